"""What the server answers beside the pages: headers, previews of links, and how it is doing."""
