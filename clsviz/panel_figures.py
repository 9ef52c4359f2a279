def small_multiples(
    panels: Sequence[tuple[str, Points, "Fit | None"]], palette: Palette, *, shared_y: bool, length_title: str
) -> go.Figure:
    """Norm against length, a panel for each model: its label, a few thousand points at most, and its line.

    The points are no WebGL, which would lie over the line, and of which browsers allow a page only some eight pictures.
    """
    n = max(len(panels), 1)
    n_columns = min(n, 2)  # of three, a phone leaves too little
    n_rows = math.ceil(n / n_columns)
    figure = make_subplots(
        n_rows,
        n_columns,
        specs=[[{} if row * n_columns + column < n else None for column in range(n_columns)] for row in range(n_rows)],
        subplot_titles=[
            short_name(label if len(label) <= LONGEST_LABEL else label.split("/")[-1]) for label, _, _ in panels
        ],
        shared_yaxes="all" if shared_y else False,
        horizontal_spacing=0.03 if shared_y else 0.12,
        vertical_spacing=0.28 / n_rows,
    )
    longest = max((int(points.lengths.max(initial=1)) for _, points, _ in panels), default=1)
    for index, (_, points, fit) in enumerate(panels):
        place = {"row": index // n_columns + 1, "col": index % n_columns + 1}
        for trace in _panel(points, fit, palette):
            figure.add_trace(trace, **place)
        if fit is not None:
            corner = {"xref": "x domain", "yref": "y domain", "x": 1, "y": 1, "xanchor": "right", "yanchor": "top"}
            text = {"text": f"R² {fit.r_squared:.3f}", "font": {"color": palette.line}, "showarrow": False}
            text["bgcolor"] = palette.background + "b0"
            figure.add_annotation(**text, **corner, **place)
        figure.update_yaxes(title="Norm" if place["col"] == 1 else None, **place)
        figure.update_xaxes(title=length_title if index >= n - n_columns else None, **place)
    figure.update_xaxes(range=[0, longest + 1], zeroline=False)
    figure.update_yaxes(zeroline=False)
    figure.for_each_annotation(lambda title: title.update(font={"size": 12}))
    margin = {"l": 8, "r": 8, "t": 40, "b": 8}
    return figure.update_layout(
        showlegend=False, hovermode="closest", margin=margin, height=_PANEL_HEIGHT * n_rows + 60
    )


def _panel(points: Points, fit: "Fit | None", palette: Palette) -> Iterator[go.Scatter]:
    opacity = float(np.clip(12 / max(len(points.lengths), 1) ** 0.5, 0.15, 0.7))
    yield go.Scatter(
        x=points.lengths,
        y=points.norms,
        text=points.labels,
        mode="markers",
        marker={"size": 4, "color": palette.points, "opacity": opacity},
        hovertemplate="%{text}<br>%{x} tokens<br>norm %{y:.4f}<extra></extra>",
    )
    if fit is not None and len(points.lengths):
        ends = np.array([points.lengths.min(), points.lengths.max()])
        line = {"color": palette.line, "width": 2.5}
        yield go.Scatter(x=ends, y=fit.predict(ends), mode="lines", line=line, hoverinfo="skip")
