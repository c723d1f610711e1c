"""The small page at ``/``: lists the models and tries one. Nothing comes from elsewhere, its script is pinned."""

from __future__ import annotations

import base64
import hashlib

__all__ = ["PAGE", "PAGE_HEADERS"]

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } fieldset { border: 1px solid #8886; border-radius: .4rem; margin: 1rem 0; }
label { display: block; margin: .5rem 0; } input, select, button { font: inherit; padding: .25rem .4rem; }
input[type=password] { width: 100%; box-sizing: border-box; }
output { display: block; margin: 1rem 0; white-space: pre-wrap; }
.quiet { opacity: .75; font-size: .9rem; }
"""

_SCRIPT = """
const $ = id => document.getElementById(id);
const ask = async (path, body) => {
  const headers = { Authorization: 'Bearer ' + $('key').value.trim() };
  if (body) headers['Content-Type'] = 'application/json';
  const reply = await fetch(path, { method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body) });
  const words = await reply.json();
  if (!reply.ok) throw new Error(words.title + '. ' + words.detail);
  return words;
};
const add = (parent, tag, text) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  return parent.appendChild(made);
};
const tell = async work => {
  try { $('out').textContent = await work() ?? ''; } catch (error) { $('out').textContent = error.message; }
};
const field = (form, entry, example) => {
  const label = add(form, 'label', entry.name + ' ');
  const input = add(label, entry.levels ? 'select' : 'input');
  for (const level of entry.levels ?? []) add(input, 'option', level);
  if (!entry.levels) { input.type = 'number'; input.step = 'any'; input.required = true; input.value = example; }
  if (entry.bounds) add(label, 'span', ' ' + entry.bounds.join(' to ')).className = 'quiet';
  input.dataset.field = entry.name;
};
const show = () => tell(async () => {
  const form = $('form'), card = await ask('/v1/models/' + encodeURIComponent($('model').value));
  form.replaceChildren();
  add(form, 'p', card.words);
  add(form, 'p', 'A new query costs epsilon = ' + card.epsilon_per_query + '.').className = 'quiet';
  for (const claim of card.claims) add(form, 'p', claim.basis + ': ' + claim.statement).className = 'quiet';
  for (const entry of card.features) field(form, entry, card.example.features[entry.name]);
  add(form, 'button', 'Score');
});
const open = () => tell(async () => {
  const { models } = await ask('/v1/models');
  $('model').replaceChildren();
  for (const model of models) add($('model'), 'option', model.name);
  $('choice').hidden = !models.length;
  if (models.length) await show(); else return 'The key covers no model that is served.';
});
$('open').addEventListener('submit', event => { event.preventDefault(); open(); });
$('model').addEventListener('change', show);
$('form').addEventListener('submit', event => { event.preventDefault(); tell(async () => {
  const features = {};
  for (const input of $('form').querySelectorAll('[data-field]'))
    features[input.dataset.field] = input.type === 'number' ? Number(input.value) : input.value;
  const said = await ask('/v1/models/' + encodeURIComponent($('model').value) + '/score', { features });
  return ['score ' + said.score, 'charged: epsilon = ' + said.epsilon_charged + (said.cached ? ' (asked before)' : ''),
    ...said.notes].join('\\n');
}); });
"""

PAGE = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Shoal risk scores</title>
<style>{_STYLE}</style></head>
<body>
<h1>Risk scores</h1>
<p>Every answer keeps a promise about the people whose records the model was fitted to. The promise is written beside
each model, with its basis. <a href="/openapi.json">OpenAPI document</a></p>
<form id="open"><label>API key <input id="key" type="password" autocomplete="off" required></label>
<button>Show models</button></form>
<fieldset id="choice" hidden><legend>Try a model</legend>
<label>Model <select id="model"></select></label><form id="form"></form></fieldset>
<output id="out" aria-live="polite"></output>
<script>{_SCRIPT}</script>
</body></html>
"""


def _pinned(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


PAGE_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src {_pinned(_SCRIPT)}; style-src {_pinned(_STYLE)}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
}
