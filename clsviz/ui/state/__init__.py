"""What lasts from one run of a page to the next: the server's, one visitor's, and what stands in the link."""
