// The page's style sheet: one set of colour names, a light and a dark value for each, and a grid that folds to a phone.
#pragma once

namespace sink::report {

inline constexpr const char* kPageStyle = R"css(
:root {
  color-scheme: light;
  --ground: #f5f6f8; --panel: #ffffff; --well: #f0f2f5; --line: #dfe3e8; --text: #1a1f26; --muted: #56616e;
  --accent: #0a5ea8; --accent-ground: #e8f1fa; --grid: #e9ecf0; --tip: #1a1f26; --tip-text: #ffffff;
  --c0: #0072b2; --c1: #d55e00; --c2: #008f6b; --c3: #b04a8f; --c4: #b07c00; --c5: #3a9bd9; --c6: #6a4fb3; --c7: #6b7580;
  --space: 1.25rem; --radius: 10px;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "DejaVu Sans", Arial, sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
:root[data-theme="dark"] {
  color-scheme: dark;
  --ground: #11151a; --panel: #191f26; --well: #222a33; --line: #2c3540; --text: #e4e9ef; --muted: #9ba7b4;
  --accent: #76b7f2; --accent-ground: #1b2c3d; --grid: #28313b; --tip: #e4e9ef; --tip-text: #11151a;
  --c0: #56a8e8; --c1: #f28a4a; --c2: #35c79c; --c3: #e18cc4; --c4: #e9bb4c; --c5: #9bd6f7; --c6: #b5a1ea; --c7: #a7b1bc;
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.55 var(--sans); }
main, header, footer { max-width: 1440px; margin: 0 auto; padding: 0 clamp(1rem, 2.5vw, 2rem); }
header { padding-top: 2rem; }
h1 { font-size: clamp(1.6rem, 3.2vw, 2.2rem); line-height: 1.2; letter-spacing: -.015em; margin: 0 0 .35rem; }
h2 { font-size: 1.5rem; line-height: 1.25; letter-spacing: -.01em; margin: 0 0 .4rem; }
h3 { font-size: 1.1rem; margin: 0; }
h4 { font-size: .95rem; margin: 0; font-weight: 650; }
p { margin: 0 0 .75rem; max-width: 92ch; }
a { color: var(--accent); }
sub { font-size: .72em; line-height: 0; }
code, pre { font-family: var(--mono); font-size: .84rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
h1, h2, h3, h4, summary, dd, td, th { overflow-wrap: anywhere; }
.muted, figcaption p, .note { color: var(--muted); font-size: .875rem; line-height: 1.45; }
.top { display: flex; gap: 1rem; align-items: flex-start; justify-content: space-between; }
.panel { background: var(--panel); border: 1px solid var(--line); border-radius: var(--radius); padding: var(--space); margin: 0; min-width: 0; }
.grid { display: grid; gap: var(--space); grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); margin: 0 0 var(--space); }
.grid.three { grid-template-columns: repeat(auto-fit, minmax(min(100%, 360px), 1fr)); }
.grid.tiles { grid-template-columns: repeat(auto-fill, minmax(min(100%, 390px), 1fr)); }
.grid.maps { grid-template-columns: repeat(auto-fit, minmax(min(100%, 600px), 1fr)); }
nav { margin: 1rem 0 0; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; font-size: .9rem; }
.lead { margin: 1.25rem 0; }
.findings { list-style: none; margin: .25rem 0 0; padding: 0; display: grid; gap: .6rem; }
.findings li { border-left: 3px solid var(--accent); padding-left: .9rem; max-width: 95ch; font-size: 1.05rem; }
.findings .task { display: block; color: var(--muted); font-size: .8rem; text-transform: uppercase; letter-spacing: .05em; }
.terms { display: grid; gap: .9rem 2rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr)); margin: .75rem 0 0; }
.terms dt { font-weight: 650; }
.terms dd { margin: .1rem 0 0; color: var(--muted); font-size: .9rem; line-height: 1.5; }
.group { padding-top: 2.5rem; }
.bar { display: flex; flex-wrap: wrap; align-items: flex-end; justify-content: space-between; gap: .6rem 1.25rem; margin: 1.75rem 0 .75rem; }
.bar > div:first-child { flex: 1 1 24rem; min-width: 0; }
.bar .note { margin: .15rem 0 0; }
.controls { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; }

button, select { font: inherit; font-size: .875rem; color: var(--text); background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .35rem .7rem; min-height: 2.25rem; cursor: pointer; }
button:hover, select:hover { border-color: var(--muted); }
.theme { flex: none; }
.legend { display: flex; flex-wrap: wrap; gap: .5rem; margin: .5rem 0 0; padding: .5rem 0; background: var(--ground); }
@media (min-width: 900px) and (min-height: 600px) { .legend { position: sticky; top: 0; z-index: 5; } }
.legend button { display: inline-flex; align-items: center; gap: .5rem; border-radius: 99px; max-width: 100%; }
.legend button span { overflow-wrap: anywhere; text-align: left; }
.legend button[aria-pressed="false"] { color: var(--muted); background: transparent; text-decoration: line-through; }
.legend button[aria-pressed="false"] .swatch { opacity: .3; }
.swatch { width: 28px; height: 8px; flex: none; stroke-width: 3; fill: none; stroke: currentColor; vertical-align: middle; margin-right: .45rem; }
.legend .swatch { margin: 0; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); } .c5 { color: var(--c5); } .c6 { color: var(--c6); } .c7 { color: var(--c7); }
.d1 { stroke-dasharray: 7 3; } .d2 { stroke-dasharray: 2 2.5; } .d3 { stroke-dasharray: 9 3 2 3; }
.d4 { stroke-dasharray: 4 3; } .d5 { stroke-dasharray: 12 3 2 2 2 3; }
fieldset { border: 0; margin: 0; padding: 0; display: inline-flex; align-items: center; gap: .5rem; min-width: 0; flex-wrap: wrap; }
.controls label.field { display: inline-flex; align-items: center; gap: .5rem; font-size: .875rem; color: var(--muted); }
legend { float: left; padding: 0; font-size: .875rem; color: var(--muted); }
.segments { display: inline-flex; border: 1px solid var(--line); border-radius: 8px; background: var(--well); padding: 2px; }
.segments label { position: relative; font-size: .875rem; }
.segments input { position: absolute; opacity: 0; inset: 0; margin: 0; width: 100%; height: 100%; cursor: pointer; }
.segments span { display: block; padding: .22rem .7rem; border-radius: 6px; color: var(--muted); }
.segments input:checked + span { background: var(--panel); color: var(--text); box-shadow: 0 0 0 1px var(--line); }
.segments input:focus-visible + span { outline: 3px solid var(--accent); outline-offset: 1px; }

figcaption { margin-bottom: .6rem; }
figcaption p { margin: .1rem 0 0; }
.plot { position: relative; height: 270px; }
.pair { display: flex; flex-wrap: wrap; gap: .75rem 1.5rem; }
.map { min-width: 0; max-width: 100%; }
.mapbox { overflow-x: auto; max-width: 100%; }
canvas { display: block; }
.readout { min-height: 1.4em; margin: .4rem 0 0; font-size: .875rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.ramp { display: flex; align-items: center; gap: .5rem; margin-top: .5rem; font-size: .8rem; color: var(--muted); font-variant-numeric: tabular-nums; }
.ramp i { flex: 0 1 160px; height: 10px; border-radius: 3px; border: 1px solid var(--line); }
details.values { margin-top: .6rem; font-size: .85rem; }
summary { cursor: pointer; color: var(--muted); }
summary:hover { color: var(--text); }

.scroll { overflow: auto; max-width: 100%; }
details.values .scroll { max-height: 22rem; margin-top: .5rem; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: .84rem; font-variant-numeric: tabular-nums; }
th, td { padding: .42rem .5rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); overflow-wrap: normal; }
thead th { color: var(--muted); font-weight: 600; vertical-align: bottom; }
thead tr:first-child th { border-bottom-color: transparent; padding-bottom: 0; }
thead th.over { text-align: center; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
.name, .word { text-align: left; }
tbody th { font-weight: 550; }
td.name, th.name { position: sticky; left: 0; background: var(--panel); max-width: 16rem; white-space: normal; }
.paper th, .paper td { white-space: normal; }
tbody tr:last-child > * { border-bottom: 0; }
tr.mean > * { background: var(--well); font-style: italic; }
.badge { font-size: .75rem; font-weight: 500; background: var(--accent-ground); color: var(--accent); border-radius: 99px; padding: .1rem .5rem; margin-left: .4rem; }
.paper { margin-bottom: var(--space); display: grid; gap: 1rem 2rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 320px), 1fr)); align-items: start; }
.config { background: var(--panel); border: 1px solid var(--line); border-radius: var(--radius); margin-bottom: .6rem; padding: .7rem var(--space); }
.config summary b { color: var(--text); font-weight: 600; }
.config dl { display: grid; gap: .6rem 1.5rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 220px), 1fr)); margin: .9rem 0; }
.config dt { color: var(--muted); font-size: .8rem; }
.config dd { margin: 0; font-size: .9rem; }
pre { background: var(--well); border-radius: 8px; padding: .9rem; margin: 0 0 .4rem; overflow-x: auto; line-height: 1.5; }
footer { padding-top: 2rem; padding-bottom: 2.5rem; }
#trouble { display: none; margin: 1rem 0 0; border-color: var(--c1); }
:root[data-errors] #trouble { display: block; }
@media (max-width: 600px) {
  :root { --space: .9rem; }
  body { font-size: 15px; }
  .plot { height: 240px; }
  td.name, th.name { max-width: 40vw; }
  tbody th.name .swatch { display: block; margin: 0 0 .2rem; }
}
@media print {
  body { background: #fff; font-size: 11pt; }
  nav, .controls, .theme, details.values, .readout { display: none; }
  .panel, .config { break-inside: avoid; }
  .bar, h2 { break-after: avoid; }
  .ramp i, .badge { print-color-adjust: exact; }
  .grid, .grid.three { grid-template-columns: 1fr 1fr; }
  .grid.maps { grid-template-columns: 1fr; }
  .scroll, .mapbox { overflow: visible; }
  .legend { position: static; }
  .plot { height: auto; }
  canvas { max-width: 100% !important; height: auto !important; }
  table { font-size: 6.5pt; } th, td { padding: .2rem .22rem; }
}
)css";

}  // namespace sink::report
