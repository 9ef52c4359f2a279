"""The documentation, and what makes its generated pages."""
