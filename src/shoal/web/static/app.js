// What runs in the browser: changes and presses are sent, the parts that changed come back, and what others do is asked
// for now and then. Nothing is drawn here.
import { morph } from './morph.js';
import { watchFiles } from './upload.js';

const BEAT = 700; // milliseconds between two looks
const LONGEST = 4_000_000;
const SILENT = 'The workbench does not answer. Is it still running?';
const $ = (id) => document.getElementById(id);
const root = document.documentElement;
const here = () => location.pathname + location.search;
let stamp = root.dataset.stamp, busy = 0, turn = 0, lost = false, marks = {}; // marks: of the parts as they came

const say = (text, sort = 'problem') => {
  const place = $('said');
  place.className = `said ${sort}`;
  place.querySelector('p').textContent = text;
  place.hidden = !text;
};

const apply = (answer) => {
  if (answer.go) { location.assign(answer.go); return; }
  if (answer.stamp !== undefined) stamp = answer.stamp;
  if (answer.title) document.title = answer.title;
  if (answer.marks) marks = answer.marks;
  for (const [id, html] of Object.entries(answer.parts || {})) {
    const part = $(id);
    if (!part) { location.reload(); return; }
    const template = document.createElement('template');
    template.innerHTML = html;
    const next = part.cloneNode(false);
    next.append(template.content);
    morph(part, next);
  }
  if (answer.parts) count(); // what is selected stays so, and with it the bar
  if (answer.said !== undefined) say(answer.said, answer.sort);
};

const reach = async (options) => {
  const reply = await fetch(here(), { ...options, headers: { 'X-Shoal': stamp || 'none', ...options.headers }, cache: 'no-store' });
  if (reply.status === 204) return {};
  if (!(reply.headers.get('content-type') || '').startsWith('application/json')) { location.reload(); return {}; }
  return reply.json();
};

// One after the other, in the order in which they were made. What the `fields` hold is the visitor's until the answer to
// it is there; those of a form that is refused stay so, to be mended. The part that they are in is drawn in any case.
let queue = Promise.resolve();
const send = (body, fields = []) => {
  busy += 1;
  turn += 1; // what was asked for before this is out of date
  root.classList.add('busy');
  const sent = [...fields].map((field) => [field, field.typed]);
  const parts = sent.map(([field]) => field.closest('.part')?.id);
  const known = () => Object.fromEntries(Object.entries(marks).filter(([id]) => !parts.includes(id)));
  const settle = () => { for (const [field, typed] of sent) if (field.typed === typed) field.typing = false; };
  queue = queue.then(() => reach({ method: 'POST', body: JSON.stringify({ ...body, marks: known() }), headers: { 'Content-Type': 'application/json' } }))
    .then((answer) => { if (!(answer.refused && body.do)) settle(); apply(answer); return answer; })
    .catch(() => { settle(); stamp = ''; marks = {}; say(SILENT); return {}; }) // the next look draws what is true
    .finally(() => { busy -= 1; if (!busy) root.classList.remove('busy'); });
  return queue;
};

const look = async () => {
  if (!busy && document.visibilityState === 'visible') {
    try {
      const asked = turn, answer = await reach({ method: 'GET', headers: { 'X-Shoal-Marks': JSON.stringify(marks) } });
      if (asked === turn) apply(answer);
      if (lost) say('');
      lost = false;
    } catch { if (!lost) say(SILENT); lost = true; }
  }
  setTimeout(look, BEAT);
};

// Fields and buttons

const valueOf = (field) => {
  if (field.type === 'checkbox') return field.checked;
  return field.multiple ? [...field.selectedOptions].map((option) => option.value) : field.value;
};

const fieldsOf = (form) => Object.fromEntries([...form.elements].filter((field) => field.name && (field.type !== 'radio' || field.checked))
  .map((field) => [field.name, valueOf(field)]));

const tooLong = (field) => {
  const long = typeof field.value === 'string' && field.value.length > LONGEST;
  field.setCustomValidity(long ? `This is too long: at most ${LONGEST} characters.` : '');
  if (long) field.reportValidity();
  return long;
};

document.addEventListener('input', ({ target }) => {
  target.typing = true;
  target.typed = (target.typed || 0) + 1;
  if (target.dataset.live === undefined) return;
  clearTimeout(target.later);
  const { form } = target; // the fields of a form stay the visitor's until its button is pressed
  target.later = setTimeout(() => send({ name: target.name, value: valueOf(target), fields: form ? fieldsOf(form) : {} }, form ? [] : [target]), 120);
});
document.addEventListener('change', ({ target }) => {
  if (!target.name || target.type === 'file') return;
  if (target.form) { // the fields of a form wait for its button; a filter is shown as soon as it is chosen
    if (target.form.getAttribute('method') === 'get' && target.tagName === 'SELECT') target.form.requestSubmit();
    return;
  }
  if (target.dataset.live !== undefined || tooLong(target)) return;
  send({ name: target.name, value: valueOf(target) }, [target]);
});
document.addEventListener('submit', (event) => {
  const form = event.target.closest('form[data-do]');
  if (!form) return;
  event.preventDefault();
  const press = event.submitter?.dataset;
  const fields = { ...fieldsOf(form), ...(form.dataset.among === undefined ? {} : { selected: selected() }) };
  const body = { do: press?.do || form.dataset.do, of: press?.of || form.dataset.of || '', fields };
  const said = JSON.stringify(body);
  if (form.sending === said) return; // pressed twice: once is meant
  form.sending = said;
  send(body, form.elements).then((answer) => { if (form.sending === said && !answer.go) form.sending = ''; });
});

const sure = (question, press) => {
  const dialog = $('sure');
  dialog.querySelector('p').textContent = question;
  dialog.onclose = () => { if (dialog.returnValue === 'yes') press(); };
  dialog.returnValue = '';
  dialog.showModal();
};

const selected = () => [...document.querySelectorAll('input[data-select]:checked')].map((box) => box.value);
const pressed = (at) => {
  const { do: what, of = '', confirm, among, once } = at.dataset;
  const press = () => {
    if (once !== undefined && at.sending) return; // pressed twice: once is meant
    at.sending = true;
    send({ do: what, of, fields: among === undefined ? {} : { selected: selected() } })
      .then((answer) => { at.sending = Boolean(answer.go); });
  };
  if (confirm) sure(confirm, press); else press();
};
document.addEventListener('click', (event) => {
  const at = event.target.closest('[data-do]');
  if (at && at.tagName !== 'FORM' && !(at.type === 'submit' && at.form) && !at.disabled) pressed(at);
});
document.addEventListener('click', (event) => { // what was changed arrives before the page is left
  const link = event.target.closest('a[href]');
  if (!busy || !link || link.target || event.ctrlKey || event.metaKey || event.shiftKey || link.origin !== location.origin) return;
  event.preventDefault();
  queue.then(() => location.assign(link.href));
});
document.addEventListener('keydown', (event) => {
  const at = event.target.closest('[data-do][tabindex]');
  if (at && (event.key === 'Enter' || event.key === ' ')) { event.preventDefault(); pressed(at); }
});

// Small things: all or none of the boxes, copying, themes, closing what was said, a filter that hides lines

const boxes = () => [...document.querySelectorAll('input[data-select]')].filter((box) => !box.closest('[hidden]'));
const count = () => {
  const bar = $('bulk');
  if (!bar) return;
  const n = selected().length;
  bar.hidden = !n;
  bar.querySelector('[data-count]').textContent = `${n} selected`;
};
document.addEventListener('change', ({ target }) => {
  if (target.dataset.all !== undefined) for (const box of boxes()) box.checked = target.checked;
  if (target.dataset.all !== undefined || target.dataset.select !== undefined) count();
});
let last = null;
document.addEventListener('click', (event) => {
  const box = event.target.closest('input[data-select]');
  if (box) {
    const all = boxes();
    if (event.shiftKey && last && last.isConnected) {
      const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((a, b) => a - b);
      for (const one of all.slice(from, to + 1)) one.checked = box.checked;
      count();
    }
    last = box;
  }
  const copy = event.target.closest('[data-copy]');
  if (copy) navigator.clipboard?.writeText($(copy.dataset.copy).textContent).then(() => { copy.textContent = 'Copied'; });
  const theme = event.target.closest('[data-theme-to]');
  if (theme) {
    const dark = getComputedStyle(root).colorScheme === 'dark';
    root.dataset.theme = dark ? 'light' : 'dark';
    document.cookie = `theme=${root.dataset.theme}; path=/; max-age=31536000; SameSite=Strict`;
  }
  if (event.target.closest('[data-print]')) print();
  if (event.target.closest('[data-close]')) say('');
});
$('sure')?.addEventListener('click', (event) => { if (event.target.value) $('sure').close(event.target.value); });

addEventListener('pageshow', (event) => { if (event.persisted) location.reload(); }); // back, to a page as it was once
watchFiles(say);
if (root.dataset.stamp) setTimeout(look, BEAT);
