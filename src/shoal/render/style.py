"""Style sheet of pages: light and dark, wide and narrow, screen and print.

Text has a contrast of at least 4.5:1.
"""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--page:#fff;--text:#1c2127;--muted:#4d5763;--line:#d3d9e0;--soft:#f3f5f8;
--link:#0a58a8;--before:#b4661a;--after:#1668b5;--track:#e7ebf0;--yes:#14692d;--no:#a81c1c}
@media (prefers-color-scheme:dark){:root{--page:#12161b;--text:#e4e9ee;--muted:#a4afba;--line:#39424d;--soft:#1b2128;
--link:#7cbcff;--before:#e39a52;--after:#5aa9f2;--track:#2a323b;--yes:#6fd28a;--no:#ff9a93}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem clamp(1rem,4vw,2.5rem);max-width:62rem;background:var(--page);color:var(--text);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.7rem;line-height:1.25;margin:.5rem 0 1rem}
h2{font-size:1.3rem;margin:2.5rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.5rem 0 .25rem}
p{max-width:46rem}
a{color:var(--link)}
a:focus-visible,main:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-100rem}
.skip:focus{left:1rem;top:.5rem;background:var(--page);padding:.25rem .75rem}
nav ul{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.25rem 1.1rem}
nav a{display:inline-block;padding:.2rem 0}
.tiles{display:flex;flex-wrap:wrap;gap:.75rem;margin:1.25rem 0}
.tiles div{display:flex;flex-direction:column-reverse;justify-content:flex-end;flex:1 1 8rem;padding:.75rem 1rem;
background:var(--soft);border:1px solid var(--line);border-radius:.5rem}
.tiles dt{color:var(--muted);font-size:.9rem}
.tiles dd{margin:0;font-size:1.6rem;font-weight:600;font-variant-numeric:tabular-nums}
figure{margin:.5rem 0 1.5rem}
figcaption{color:var(--muted);margin-top:.5rem;max-width:46rem}
.legend span{white-space:nowrap}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:.5rem 0;color:var(--muted)}
.key{width:1em;height:.75em;border-radius:2px;vertical-align:baseline}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:start;color:var(--muted);padding:.25rem 0}
th,td{text-align:start;vertical-align:top;padding:.45rem .75rem .45rem 0;border-bottom:1px solid var(--line)}
thead th{overflow-wrap:normal;font-size:.9rem;color:var(--muted);font-weight:600;vertical-align:bottom}
tbody th{font-weight:500}
.bars{table-layout:fixed}
.attacks th:first-child{width:34%}
.attacks th:last-child{width:15%}
.bars tbody th{padding-inline-end:1rem}
.bar{display:block;width:100%;height:.7rem;border-radius:2px;margin:.35rem 0 .2rem}
.bar .track,.key .track{fill:var(--track)}
.before{fill:var(--before)}
.after{fill:var(--after)}
.scatter{display:block;width:100%;height:auto}
.scatter text{fill:var(--text);font-size:13px}
.scatter .number{font-weight:600;paint-order:stroke;stroke:var(--page);stroke-width:4px}
.scatter .tick{fill:var(--muted)}
.grid{stroke:var(--line)}
.frontier{fill:none;stroke:var(--after);stroke-width:2}
.envelope,.gap{fill:none;stroke:var(--before);stroke-width:1.5;stroke-dasharray:2 4}
.efficient{fill:var(--after)}
.beaten{fill:none;stroke:var(--muted);stroke-width:1.5}
.chosen{fill:var(--before);stroke:var(--page);stroke-width:1}
.trials td,.trials th{overflow-wrap:normal}
.figure{white-space:nowrap}
.of,small{color:var(--muted);font-size:.875rem}
.yes{color:var(--yes);font-weight:600}
.no{color:var(--no);font-weight:600}
.models tbody th,.models td:nth-child(5){overflow-wrap:normal;hyphens:none}
.models tbody th{white-space:nowrap}
.record th{width:45%}
code{font-family:ui-monospace,"Liberation Mono",monospace;font-size:.875rem}
footer{margin-top:3rem;color:var(--muted);font-size:.9rem;border-top:1px solid var(--line)}
@media (max-width:40rem){.scatter text{font-size:20px}
body{padding:1rem .9rem;font-size:.97rem}h1{font-size:1.35rem}th,td{padding-inline-end:.5rem}
.stacked thead{position:absolute;left:-100rem}
.stacked tr,.stacked th,.stacked td{display:block;border:0;padding:.1rem 0}
.stacked tbody th:first-child,.stacked td:last-child{width:auto}.stacked td:empty{display:none}
.stacked td::before{content:attr(data-column) ": ";color:var(--muted)}
.stacked tr{border-bottom:1px solid var(--line);padding:.5rem 0}.tiles div{flex-basis:40%}}
@media print{:root{color-scheme:light;--page:#fff;--text:#000;--muted:#333;--line:#bbb;--soft:#fff;--link:#000;
--before:#b4661a;--after:#1668b5;--track:#eee;--yes:#000;--no:#000}body{max-width:none;padding:0;font-size:10pt}
nav,.skip{display:none}section,figure,tr{break-inside:avoid}h2,h3{break-after:avoid}section{break-inside:auto}
.bar,.key{print-color-adjust:exact}}
"""
