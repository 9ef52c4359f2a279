"""Old code pages, told apart by the language that the letters make."""


def guess_code_page(sample: bytes) -> str:
    """The likeliest encoding of lines that are not UTF-8."""
    import charset_normalizer

    best = charset_normalizer.from_bytes(sample).best()
    return best.encoding if best else "cp1252"
