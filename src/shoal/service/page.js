// The score page. mountScores(root, ask) builds it inside `root`; ask(path, body) gives the words of a reply or throws a
// problem document, so another page can bring its own way to the service. Text only ever enters as text.
{
const make = (name, words = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(words)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, '');
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.filter(child => child != null));
  return made;
};

const BASES = {
  proved: 'Proved', verified: 'Checked on the file', measured: 'Measured', published: 'A paper says so; not vouched for',
};
const HOLDERS = { client: 'Your account', data: 'The people in the data, all clients together', model: 'This model, all clients together' };

const UNITS = 10n ** 12n;
// Exact decimal text to whole units of 10^-12, so that no sum is rounded.
const units = text => {
  const [whole, rest = ''] = text.split('.');
  return BigInt(whole + rest.padEnd(12, '0'));
};
const percent = share => {
  const value = 100 * share;
  return (value > 0 && value < 10 || value > 90 && value < 100 ? value.toFixed(1) : Math.round(value)) + '%';
};
const figure = value => String(Number(value.toPrecision(3)));
const free = model => model.epsilon_per_query === '0';
const price = model => free(model) ? 'free to ask' : 'ε = ' + model.epsilon_per_query + ' for each new question';

const mountScores = (root, ask) => {
  const choice = make('section', { class: 'card', 'aria-labelledby': 'choice-heading' });
  const model = make('div');
  root.replaceChildren(choice, model);
  let turn = 0;

  const show = async line => {
    const mine = ++turn;
    try {
      const card = await ask('/v1/models/' + encodeURIComponent(line.name));
      if (mine === turn) model.replaceChildren(...modelParts(card, ask));
    } catch (problem) {
      if (mine === turn) model.replaceChildren(alarm(problem));
    }
  };
  const start = async () => {
    const { models } = await ask('/v1/models');
    models.sort((a, b) => free(b) - free(a) || a.name.localeCompare(b.name));
    choice.replaceChildren(make('h2', { id: 'choice-heading' }, 'Models'), modelList(models, show));
    if (models.length) await show(models[0]);
  };
  return start();
};

const modelList = (models, show) => {
  if (!models.length) return make('p', {}, 'The key covers no model that is served here. Ask the operator for one that does.');
  const entry = (line, i) => make('label', { class: 'choice' },
    make('input', { type: 'radio', name: 'model', value: line.name, checked: !i, onchange: () => show(line) }),
    make('span', {},
      make('strong', {}, line.name), ' ',
      make('span', { class: free(line) ? 'tag' : 'tag warn' }, price(line)),
      make('span', { class: 'soft block' }, line.words)));
  return make('fieldset', {}, make('legend', { class: 'heard' }, 'Choose a model'), ...models.map(entry));
};

const modelParts = (card, ask) => {
  const answer = make('div', { class: 'answer', role: 'status' });
  const budget = make('div');
  const renew = async () => {
    try { budget.replaceChildren(budgetPart(card, (await ask('/v1/budget')).accounts)); }
    catch (problem) { budget.replaceChildren(alarm(problem)); }
  };
  renew();
  return [promisePart(card), askPart(card, ask, answer, renew), budget];
};

const promisePart = card => make('section', { class: 'card', 'aria-labelledby': 'promise-heading' },
  make('h2', { id: 'promise-heading' }, 'What ' + card.name + ' promises'),
  ...card.claims.map(claim => make('div', { class: claim.basis === 'published' ? 'claim note warn' : 'claim' },
    make('p', {}, make('span', { class: claim.basis === 'published' ? 'tag warn' : 'tag' }, BASES[claim.basis] ?? claim.basis),
      ' ', claim.statement),
    claim.assumptions.length ? make('details', {}, make('summary', {}, claim.basis === 'published' ? 'Why not' : 'What this rests on'),
      make('ul', {}, ...claim.assumptions.map(text => make('li', {}, text)))) : null)));

const askPart = (card, ask, answer, renew) => {
  const inputs = new Map();
  const alarmPlace = make('div', { role: 'alert' });
  const command = make('pre', { tabindex: 0, 'aria-label': 'curl command' });
  const button = make('button', { class: 'main' }, free(card) ? 'Score' : 'Score, at ε = ' + card.epsilon_per_query);
  const told = () => { command.textContent = curl(card, read(card, inputs)); };
  const fill = () => {
    for (const field of card.features) put(field, inputs.get(field.name), card.example.features[field.name]);
    told();
  };
  const send = async event => {
    event.preventDefault();
    clear(inputs);
    alarmPlace.replaceChildren();
    answer.replaceChildren();
    button.disabled = true;
    try {
      const reply = await ask('/v1/models/' + encodeURIComponent(card.name) + '/score', { features: read(card, inputs) });
      answer.replaceChildren(...answerParts(card, reply));
      if (!free(card)) renew();
    } catch (problem) {
      alarmPlace.replaceChildren(alarm(problem));
      mark(inputs, problem.errors ?? []);
    } finally { button.disabled = false; }
  };
  const form = make('form', { novalidate: true, onsubmit: send, oninput: told },
    make('div', { class: 'fields' }, ...card.features.map((field, i) => fieldPart(field, i, inputs))),
    alarmPlace,
    make('p', { class: 'actions' }, button, make('button', { type: 'button', onclick: fill }, 'Fill in an example')));
  told();
  return make('section', { class: 'card', 'aria-labelledby': 'ask-heading' },
    make('h2', { id: 'ask-heading' }, 'Ask about one person'),
    make('p', { class: 'soft' }, 'What you type goes to this service, which does not keep it. A number outside its public range counts as the nearer end of the range.'),
    form, answer,
    make('details', {}, make('summary', {}, 'The same from the command line'), command));
};

const fieldPart = (field, i, inputs) => {
  const id = 'field-' + i;
  const empty = field.nullable ? ', or left empty' : '';
  const hint = field.levels ? null : field.bounds ? field.bounds.join(' to ') + empty : 'a number' + empty;
  const words = { id, 'data-field': field.name, 'aria-describedby': (hint ? id + '-hint ' : '') + id + '-error' };
  const input = field.levels
    ? make('select', words, make('option', { value: '' }, 'Choose'),
      ...field.levels.map((level, k) => make('option', { value: k }, String(level))),
      field.nullable ? make('option', { value: 'null' }, 'not known') : null)
    : make('input', { ...words, type: 'text', inputmode: 'decimal', autocomplete: 'off', maxlength: 60 });
  inputs.set(field.name, input);
  return make('div', { class: 'field' },
    make('label', { for: id }, field.name),
    input,
    hint ? make('span', { class: 'hint', id: id + '-hint' }, hint) : null,
    make('span', { class: 'error', id: id + '-error' }));
};

// What was typed, as it goes to the service, which is the only judge of it. What is empty is left out, and it says so.
const read = (card, inputs) => {
  const features = {};
  for (const field of card.features) {
    const text = inputs.get(field.name).value.trim();
    if (field.levels && text !== '') features[field.name] = text === 'null' ? null : field.levels[Number(text)];
    else if (text !== '') features[field.name] = Number.isFinite(Number(text)) ? Number(text) : text;
    else if (field.nullable && !field.levels) features[field.name] = null;
  }
  return features;
};

const put = (field, input, value) => {
  input.value = field.levels ? String(field.levels.indexOf(value)) : value === null ? '' : String(value);
};

const clear = inputs => {
  for (const input of inputs.values()) {
    input.removeAttribute('aria-invalid');
    document.getElementById(input.id + '-error').textContent = '';
  }
};

const mark = (inputs, errors) => {
  let first = null;
  for (const { field, rule } of errors) {
    const input = inputs.get(field);
    if (!input) continue;
    input.setAttribute('aria-invalid', 'true');
    document.getElementById(input.id + '-error').textContent = rule;
    first ??= input;
  }
  first?.focus();
};

const answerParts = (card, reply) => {
  const [low, high] = card.bounds ?? [0, 1];
  const share = Math.min(1, Math.max(0, (reply.score - low) / (high - low)));
  const outcome = card.outcome ? 'the outcome “' + card.outcome + '”' : 'the outcome';
  const filled = make('span', {});
  filled.style.width = 100 * share + '%';
  const cost = reply.cached ? 'Asked before: the same answer, at no cost.'
    : free(card) ? 'This answer cost nothing.' : 'This answer cost ε = ' + reply.epsilon_charged + '.';
  const meaning = card.bounds
    ? 'For people with these values, the model expects ' + (card.outcome ?? 'the outcome') + ' of about ' + figure(reply.score) + ' on average, between ' + low + ' and ' + high + '.'
    : 'Of 100 people with these values, the model expects about ' + Math.round(100 * share) + ' to have ' + outcome + '.';
  const classes = Object.entries(reply.probabilities ?? {}).map(([name, value]) => make('li', {}, name + ': ' + percent(value)));
  const noise = free(card) ? 'It is an estimate from noisy counts, not a diagnosis.'
    : 'Noise was added to this answer, so it can be far off; asked again, it stays the same.';
  return [
    make('p', { class: 'figure', 'data-score': reply.score }, card.bounds ? figure(reply.score) : percent(share)),
    make('div', { class: 'bar', 'aria-hidden': 'true' }, filled),
    make('p', {}, meaning + ' ' + noise),
    classes.length ? make('ul', { 'aria-label': 'Probability of each class' }, ...classes) : '',
    ...reply.notes.map(text => make('p', { class: 'note' }, text + '.')),
    make('p', { class: 'soft' }, cost)];
};

const budgetPart = (card, accounts) => {
  const own = { client: () => true, data: account => account.name === card.data, model: account => account.name === card.name };
  const rows = ['client', 'data', 'model'].flatMap(kind =>
    accounts.filter(account => account.kind === kind && account.limit !== null && own[kind](account)));
  return make('section', { class: 'card', 'aria-labelledby': 'budget-heading' },
    make('h2', { id: 'budget-heading' }, 'Budget'),
    make('p', { class: 'soft' }, free(card) ? 'Answers of this model cost nothing, however many you ask.'
      : 'Each new question is charged to all of these before it is answered. When one is used up, no new question is answered.'),
    ...rows.map(account => accountPart(card, account)));
};

const grouped = amount => String(amount).replace(/^\d+/, whole => BigInt(whole).toLocaleString('en'));  // 100,000.5

const accountPart = (card, account) => {
  const available = account.left_for_answers ?? account.left;  // of a data set a part may be reserved for answers
  const [left, limit, price] = [available, account.limit, card.epsilon_per_query].map(units);
  const inRho = account.currency === 'rho', symbol = inRho ? 'ρ ' : 'ε ';
  const cost = inRho ? (price * price + 2n * UNITS - 1n) / (2n * UNITS) : price;  // ε²/2, rounded upwards
  const filled = make('span', {});
  filled.style.width = (limit ? Number(left * 1000n / limit) / 10 : 0) + '%';
  const more = cost ? left / cost : 0n;
  const enough = !cost ? '' : more ? ': enough for ' + more.toLocaleString('en') + ' more new ' + (more === 1n ? 'question' : 'questions') + ' to this model'
    : ': not enough for a new question to this model';
  const name = account.kind === 'client' ? HOLDERS.client + ' (' + account.name + ')' : HOLDERS[account.kind];
  return make('div', { class: 'account', 'data-account': account.kind },
    make('strong', {}, name),
    make('div', { class: 'bar thin', 'aria-hidden': 'true' }, filled),
    make('span', { class: 'soft' }, symbol + grouped(available) + ' of ' + grouped(account.limit) + ' left' + enough + '. Spent '
      + symbol + grouped(account.spent) + (account.reserved === '0' ? '' : ', reserved for answers ' + symbol + grouped(account.reserved)) + '.'));
};

const alarm = problem => make('div', { class: 'problem' },
  make('strong', {}, (problem.title ?? 'Something went wrong') + '. '),
  problem.detail ?? '',
  problem.request_id ? make('span', { class: 'soft block' }, 'Request ' + problem.request_id) : null);

const curl = (card, features) => {
  const body = JSON.stringify({ features }).replaceAll("'", "'\\''");
  const url = location.origin + HOME + '/v1/models/' + encodeURIComponent(card.name) + '/score';
  return ['curl -s ' + url, '-H "Authorization: Bearer $SHOAL_KEY" -H "Content-Type: application/json"', "-d '" + body + "'"].join(' \\\n  ');
};

const HOME = location.pathname.replace(/\/+$/, '');  // where the service lies: at the root, or beneath another application

const service = key => async (path, body) => {
  const headers = { Authorization: 'Bearer ' + key };
  if (body) headers['Content-Type'] = 'application/json';
  let reply, words;
  try { reply = await fetch(HOME + path, { method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body) }); }
  catch { throw { title: 'The service does not answer', detail: 'Is it running? Sent again, a question is never charged twice.' }; }
  try { words = await reply.json(); }
  catch { throw { title: 'The service did not answer in its own words', detail: 'Something between here and there replied with ' + reply.status + '.' }; }
  if (reply.status === 401) throw { ...words, detail: 'It is missing, mistyped or revoked. Enter the whole line that you were given.' };
  if (!reply.ok) throw words;
  return words;
};

const enter = document.getElementById('enter');
enter?.addEventListener('submit', async event => {
  event.preventDefault();
  const key = document.getElementById('key'), said = document.getElementById('enter-problem'), scores = document.getElementById('scores');
  said.replaceChildren();
  key.removeAttribute('aria-invalid');
  try {
    if (!/^[!-~]+$/.test(key.value.trim())) throw { title: 'That is not a key', detail: 'A key begins with shoal_ and has no spaces.' };
    await mountScores(scores, service(key.value.trim()));
    key.value = '';
    enter.hidden = true;
    document.getElementById('leave').hidden = false;
  } catch (problem) {
    scores.replaceChildren();
    said.replaceChildren(alarm(problem));
    key.setAttribute('aria-invalid', 'true');
    key.focus();
  }
});
document.getElementById('leave')?.addEventListener('click', () => location.reload());
window.mountScores = mountScores;
}
