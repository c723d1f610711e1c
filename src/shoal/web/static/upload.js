// A file is sent as it is, piece by piece, with a bar; half a file is none.

const size = (n) => n < 1e6 ? `${Math.ceil(n / 1e3)} kB` : `${(n / 1e6).toFixed(1)} MB`;

export const watchFiles = (say) => {
  const bar = document.getElementById('bar'), sent = document.getElementById('sent');
  if (!bar) return;
  let request = null;
  const tell = (text) => { sent.textContent = text; };
  const stop = (text) => { request = null; bar.hidden = true; tell(''); say(text); };
  const most = Number(bar.dataset.most);

  const send = (file) => {
    if (request) { say('One file at a time: wait, or reload the page to stop.'); return; }
    if (file.size > most) { say(`${file.name} has ${size(file.size)}; at most ${size(most)} can be uploaded. Open it by its path, or start with --upload-limit.`); return; }
    say('');
    bar.hidden = false;
    request = new XMLHttpRequest();
    request.open('PUT', `/files/${encodeURIComponent(file.name)}`);
    request.setRequestHeader('X-Shoal', 'workbench');
    request.upload.onprogress = (event) => {
      bar.max = event.total; bar.value = event.loaded;
      tell(`Sending ${file.name}: ${size(event.loaded)} of ${size(event.total)}`);
    };
    request.onerror = () => stop('The file could not be read or sent. If it changed meanwhile, choose it again.');
    request.onload = () => {
      let words = {};
      try { words = JSON.parse(request.responseText); } catch { /* said below */ }
      if (words.next) { request = null; location.assign(words.next); }
      else stop(words.problem || `The workbench did not take the file (${request.status}).`);
    };
    request.send(file);
  };

  window.addEventListener('beforeunload', (event) => { if (request) event.preventDefault(); });
  document.addEventListener('change', ({ target }) => {
    if (target.id === 'file' && target.files.length) send(target.files[0]);
  });
  const area = document.querySelector('.drop');
  document.addEventListener('dragover', (event) => { event.preventDefault(); area.classList.add('over'); });
  document.addEventListener('dragleave', (event) => { if (!event.relatedTarget) area.classList.remove('over'); });
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    area.classList.remove('over');
    if (event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
  });
};
