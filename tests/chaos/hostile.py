"""Words that would do harm where they are shown: markup, terminal codes, formulas, turned text."""

HOSTILE = (
    "<script>document.title='run'</script>",
    "<img/src=x/onerror=document.title='run'>",
    "\"onmouseover=document.title='run'",
    "javascript:document.title='run'",
    "a\x1b[31mred\x1b]0;title\x07",
    "a\x9b2Jcleared",
    "a\rover",
    "=cmd|'/c_calc'!a",
    "+a1+b1",
    "-2+a",
    "@sum(a1)",
    "a\u202egnp.exe",
    "a\u2066turned\u2069",
    "a\u200bhidden",
    "$x^{broken$\\frac",
)
