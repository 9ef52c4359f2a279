"""What is measured: models, corpora and samples, from this machine and from the Hugging Face Hub."""
