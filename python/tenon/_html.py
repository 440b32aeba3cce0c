"""Tables for notebooks."""

from html import escape


def table(head, rows, caption=None):
    """An HTML table; numbers are right-aligned."""

    def cell(tag, value):
        style = (
            ' style="text-align:right"'
            if isinstance(value, (int, float))
            else ' style="text-align:left"'
        )
        return f"<{tag}{style}>{escape(str(value))}</{tag}>"

    lines = ["<table>"]
    if caption:
        lines.append(f"<caption>{escape(caption)}</caption>")
    lines.append("<tr>" + "".join(cell("th", h) for h in head) + "</tr>")
    lines += ["<tr>" + "".join(cell("td", c) for c in row) + "</tr>" for row in rows]
    return "\n".join([*lines, "</table>"])
