// Make one tree like another with as few changes as can be: what has the focus, was typed, unfolded or scrolled stays.

const keyOf = (node) => {
  if (node.nodeType !== 1 || !node.hasAttributes()) return '';
  if (node.id) return `#${node.id}`;
  const key = node.getAttribute('data-key'), name = node.getAttribute('name');
  if (key) return key;
  if (node.tagName === 'FORM' && node.dataset.do) return `form ${node.dataset.do} ${node.dataset.of || ''}`;
  return name && node.type !== 'radio' ? `${node.tagName} ${name}` : '';
};

// Whole pieces that often stay as they are: one look tells, and only what was typed or chosen there may still differ.
const PIECES = new Set(['TR', 'TD', 'TH', 'SELECT', 'FIGURE', 'TABLE', 'DL', 'svg']);
const isSame = (now, next) => PIECES.has(now.tagName) && now.isEqualNode(next);

export const morph = (now, next) => {
  if (now.typing && now.tagName === 'SELECT') return; // what is being chosen, and from what
  if (isSame(now, next)) { controls(now, next); return; }
  attributes(now, next);
  children(now, next);
  control(now, next);
};

const attributes = (now, next) => {
  for (const { name, value } of [...next.attributes]) {
    if (now.getAttribute(name) !== value && !(name === 'open' && now.tagName === 'DETAILS')) now.setAttribute(name, value);
  }
  for (const { name } of [...now.attributes]) {
    if (!next.hasAttribute(name) && !(name === 'open' && /DETAILS|DIALOG/.test(now.tagName))) now.removeAttribute(name);
  }
};

const signOf = (node) => `${node.nodeName} ${keyOf(node) || `.${node.classList?.[0] || ''}`}`;

// Which children are the same, in their order: the most that can stay where they are. A line that has gone from above a
// form takes nothing with it, and what isn't moved keeps the focus.
const unmoved = (now, next) => {
  const a = now.map(signOf), b = next.map(signOf);
  if (a.length === b.length && a.every((sign, i) => sign === b[i])) return new Map(next.map((node, i) => [node, now[i]]));
  const most = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) most[i][j] = a[i] === b[j] ? most[i + 1][j + 1] + 1 : Math.max(most[i + 1][j], most[i][j + 1]);
  }
  const found = new Map();
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) { found.set(next[j], now[i]); i += 1; j += 1; } else if (most[i + 1][j] >= most[i][j + 1]) i += 1; else j += 1;
  }
  return found;
};

const children = (now, next) => {
  const before = [...now.childNodes], after = [...next.childNodes], stays = unmoved(before, after);
  const still = new Set(stays.values()), moved = new Map();
  for (const node of before) {
    if (still.has(node)) continue;
    node.remove();
    if (keyOf(node)) moved.set(signOf(node), node);
  }
  let at = now.firstChild;
  for (const child of after) {
    const node = stays.get(child) || moved.get(signOf(child));
    moved.delete(signOf(child));
    if (!node) { now.insertBefore(document.importNode(child, true), at); continue; }
    if (node === at) at = at.nextSibling; else now.insertBefore(node, at);
    if (node.nodeType === 1) morph(node, child);
    else if (node.data !== child.data) node.data = child.data;
  }
};

// The fields of two trees that are equal otherwise.
const controls = (now, next) => {
  control(now, next);
  if (!now.firstElementChild) return;
  const after = next.querySelectorAll('input, select, textarea');
  now.querySelectorAll('input, select, textarea').forEach((field, i) => control(field, after[i]));
};

const control = (now, next) => {
  if (now.dataset?.select !== undefined || now.dataset?.all !== undefined) return; // what is selected is the visitor's
  if (now.typing) return;
  if (now.tagName === 'INPUT' && /checkbox|radio/.test(now.type)) now.checked = next.hasAttribute('checked');
  else if (now.tagName === 'SELECT' && now.multiple) [...now.options].forEach((option, i) => { option.selected = next.options[i]?.hasAttribute('selected'); });
  else if (now.tagName === 'SELECT') { if (now.value !== next.value) now.value = next.value; }
  else if (/INPUT|TEXTAREA/.test(now.tagName) && now.type !== 'file') {
    const value = now.tagName === 'INPUT' ? next.getAttribute('value') ?? '' : next.textContent;
    if (now.value !== value) now.value = value;
  }
};
