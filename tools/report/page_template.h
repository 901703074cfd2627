// The fixed text of the page; {{name}} is filled in by page.cpp.
#pragma once

namespace sink::report {

// The policy forbids every request: what is not inside the file does not exist.
inline constexpr const char* kPageFrame = R"html(<!doctype html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="generator" content="Sinklab report">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<title>{{title}}</title>
<style>{{style}}</style>
<script>{{theme_script}}</script>
</head>
<body>
<header>
<div class="top"><div><h1>{{title}}</h1><p class="muted">{{overview}}</p></div>
<button type="button" class="theme" id="theme">Theme: auto</button></div>
<div id="trouble" class="panel" role="alert"></div>
<section class="panel lead" aria-labelledby="what"><h2 id="what">What you see</h2>
<p>Many language models put much of their attention on the first token, whatever it says: an <b>attention sink</b>.
Sinklab trains small models that differ in one thing at a time, above all in the attention operation, and measures when the
sink appears. Below: how each run learned, how strongly its heads fix on the first token, which heads do, and what happens to the
first token&rsquo;s hidden state, key and value.</p>
<ul class="findings">{{findings}}</ul></section>
<section class="panel" aria-labelledby="terms"><h3 id="terms">How to read the numbers</h3>
<dl class="terms">
<div><dt>&alpha;<sub>1</sub>: weight on the first token</dt><dd>The weight a head gives to token 1, averaged over all queries, from 0 to 1
for softmax. Averaged over heads, layers and sequences unless a figure says otherwise.</dd></div>
<div><dt>Sink<sub>1</sub>: how many heads are sinks</dt><dd>The percentage of heads whose &alpha;<sub>1</sub> exceeds a threshold &epsilon; (0.3 in
the curves), decided for each sequence and head first, then averaged.</dd></div>
<div><dt>Raw: weights as they act</dt><dd>The numbers a<sub>ij</sub> that multiply the values. With softmax each row sums to 1. With sigmoid or
ReLU it need not: the <b>row mass</b>, a query&rsquo;s total |a|, can be nearly 0 or far above 1.</dd></div>
<div><dt>Proxy: share of each row</dt><dd>|a| / &Sigma;|a|, which forces each row to sum to 1. The study scores operations that do not normalise
this way. For softmax raw and proxy are the same; elsewhere a large proxy may be a large share of almost nothing.</dd></div>
</dl></section>
<nav aria-label="Sections">{{navigation}}</nav>
</header>
<main>
{{groups}}
<section class="group" id="configurations"><h2>Configuration of each run</h2>
<p class="muted">Everything a run was told, and the version that ran it.</p>
{{configurations}}</section>
</main>
<footer><p class="muted">One file, no network. The same run folders give the same bytes. Charts by Chart.js (MIT licence, notice in the
source of this page).</p></footer>
<script type="application/json" id="report-data">{{data}}</script>
<script>{{chart_js}}</script>
<script>{{base_script}}</script>
<script>{{charts_script}}</script>
<script>{{maps_script}}</script>
</body>
</html>
)html";

inline constexpr const char* kPaperTable = R"html(<aside class="panel paper" aria-labelledby="paper">
<div><h3 id="paper">What the study found at full size</h3>
<p class="note">Gu et al., &ldquo;When Attention Sink Emerges in Language Models&rdquo; (ICLR 2025): 60&nbsp;M parameters, 10 layers of 8 heads,
a data set of 5&nbsp;B tokens, &epsilon;&nbsp;=&nbsp;0.3. The scale differs from the runs above, and so do data and vocabulary: compare the
direction, not the values or the losses.</p></div>
<div class="scroll" tabindex="0" role="region" aria-label="Values of the paper"><table>
<thead><tr><th scope="col" class="word">attention</th><th scope="col">Sink<sub>1</sub>, %</th><th scope="col">val. loss</th></tr></thead>
<tbody><tr><th scope="row" class="word">softmax</th><td>18.18</td><td>3.73</td></tr>
<tr><th scope="row" class="word">sigmoid, no normalisation</th><td>0.44 (proxy)</td><td>3.70</td></tr>
<tr><th scope="row" class="word">sigmoid, normalised</th><td>30.24</td><td>3.74</td></tr></tbody></table></div></aside>
)html";

inline constexpr const char* kTextTask =
    "A small language model reads plain text and predicts each next token. Nothing in the task asks for a sink.";

inline constexpr const char* kBackcopyTask =
    "Bigram-Backcopy (Guo et al. 2024) is a synthetic language small enough to understand: the next token usually "
    "depends on "
    "the current one alone, but after a trigger token the model must copy the token that came before the trigger. A "
    "head that "
    "copies has nothing to do at all other positions, and softmax still makes it put its attention somewhere.";

}  // namespace sink::report
