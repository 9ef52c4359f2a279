"""How a result looks in a notebook."""

from collections.abc import Mapping

import jinja2

_RESULT = jinja2.Environment(autoescape=True).from_string("""\
<div>
<p><strong>{{ question }}</strong></p>
<p>{{ answer }}</p>
{{ table | safe }}
<details>
<summary>How it was measured</summary>
<table>
{% for name, value in settings.items() %}
<tr><th scope="row" style="text-align: left">{{ name }}</th><td style="text-align: left">{{ value }}</td></tr>
{% endfor %}
</table>
</details>
</div>""")


_NUMBERS = jinja2.Environment(autoescape=True).from_string("""\
<table>
{% for name, value in numbers.items() %}
<tr><th scope="row" style="text-align: left">{{ name }}</th><td style="text-align: left">{{ value }}</td></tr>
{% endfor %}
</table>""")


def numbers_table(numbers: Mapping[str, str]) -> str:
    """Names and values as an HTML table, escaped."""
    return _NUMBERS.render(numbers=numbers)


def to_html(question: str, answer: str, table: str, settings: Mapping[str, str]) -> str:
    """A result as a piece of HTML: everything is escaped but `table`, which is markup already."""
    return _RESULT.render(question=question, answer=answer, table=table, settings=settings)
