// The tooltip, next to a point of the window and inside the window. `lines` are [name, value].
"use strict";

const tip = document.getElementById("tip");
function showTip(x, y, lines) {
  tip.replaceChildren(...lines.map(([name, value]) => {
    const line = document.createElement("div"), label = document.createElement("span"), text = document.createElement("b");
    label.textContent = name;
    text.textContent = value;
    line.append(label, text);
    return line;
  }));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect(), space = 14;
  const right = document.documentElement.clientWidth - 4, bottom = window.innerHeight - 4;
  tip.style.left = Math.max(4, x + space + width <= right ? x + space : x - space - width) + "px";
  tip.style.top = Math.max(4, y + space + height <= bottom ? y + space : y - space - height) + "px";
}
function hideTip() { tip.hidden = true; }
addEventListener("scroll", hideTip, { passive: true });
addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
