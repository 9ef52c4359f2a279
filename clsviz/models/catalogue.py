"""The model catalogue."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """An entry of the model catalogue.

    repo: its repository on the Hugging Face Hub, or "" for the built-in model.
    megabytes: size of the download. megaparameters: weights, in millions, that every token is multiplied by.
    """

    label: str
    repo: str
    megabytes: int
    megaparameters: int


MODELS = {
    "minilm": Model("MiniLM-L6", "", 0, 11),
    "bert-base-uncased": Model("BERT base, uncased", "google-bert/bert-base-uncased", 441, 86),
    "bert-large-uncased": Model("BERT large, uncased", "google-bert/bert-large-uncased", 1346, 303),
    "bert-base-multilingual-cased": Model(
        "BERT base, multilingual", "google-bert/bert-base-multilingual-cased", 718, 86
    ),
    "distilbert-base-uncased": Model("DistilBERT base, uncased", "distilbert/distilbert-base-uncased", 269, 42),
    "roberta-base": Model("RoBERTa base", "FacebookAI/roberta-base", 502, 86),
    "xlm-roberta-base": Model("XLM-RoBERTa base", "FacebookAI/xlm-roberta-base", 1130, 86),
    "all-mpnet-base-v2": Model("MPNet base, of sentences", "sentence-transformers/all-mpnet-base-v2", 439, 86),
    "modernbert-base": Model("ModernBERT base", "answerdotai/ModernBERT-base", 601, 110),
}
"""The first is built in and needs no network."""
