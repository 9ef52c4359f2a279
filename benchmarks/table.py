"""What benchmarks.encoder found, as a table to read."""

from typing import Any

_HEAD = f"{'':22} {'sentences/s':>11} {'tokens/s':>9} {'ratio':>6} {'CPU s':>6} {'largest error':>13} {'MB':>6}"


def table(result: dict[str, Any]) -> str:
    """One row per way."""
    has_beside = any("beside" in row for row in result["rows"])
    lines = [
        f"{result['model']} on {result['device']}, torch {result['torch']}, {result['threads']} threads; "
        f"{result['sentences']:,} sentences of {result['tokens_per_sentence']:.1f} tokens, {result['rounds']} rounds",
        *(
            f"ceiling in {name}: {entry['gigaflops']:,.0f} GFLOP/s, {entry['sentences_per_second']:,.0f} sentences/s"
            for name, entry in result["ceiling"].items()
        ),
        "",
        f"{_HEAD} {'of ceiling':>10}" + (f" {'beside':>7} {'fair share':>10}" if has_beside else ""),
    ]
    for row in result["rows"]:
        fraction = f"{row['ceiling_fraction']:.0%}" if "ceiling_fraction" in row else ""
        megabytes = "" if row["peak_megabytes"] is None else f"{row['peak_megabytes']:,.0f}"
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
        lines.append(
            f"{row['name']:22} {row['sentences_per_second']:11,.0f} {row['tokens_per_second']:9,.0f} {ratio:>6} "
            f"{row['processor_seconds']:6.1f} {row['max_relative_error']:13.1e} {megabytes:>6} {fraction:>10}"
            + (f" {row['beside']:7,.0f} {row['fair_share']:10.0%}" if has_beside else "")
            + ("" if row["computes_the_same"] else " does not compute the same")
        )
    lines += [f"{name}: not installed" for name in result["not_installed"]]
    if growth := result.get("growth"):
        lines.append(
            f"\n{growth['sentences']:,} sentences take {growth['times_the_seconds']:.2f} times as long as a tenth of "
            f"them, and {growth['megabytes_more']:.0f} MB more"
        )
    return "\n".join(lines)
