"""The page “Where length lives”."""
