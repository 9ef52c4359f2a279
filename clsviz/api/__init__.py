"""What a notebook or a script calls: ask in one line, get a result that tabulates, fits and plots itself."""
