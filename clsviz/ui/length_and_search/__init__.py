"""The page “Does length bend my search?”."""
