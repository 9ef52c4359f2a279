"""The page “Compare models”."""
