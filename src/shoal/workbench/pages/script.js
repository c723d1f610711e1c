// Sends a file as it is, piece by piece, and goes to the page that the answer names.
(() => {
  const $ = (id) => document.getElementById(id);
  const say = (text) => { const place = $('sent'); if (place) place.textContent = text; };
  const size = (n) => n < 1e6 ? Math.ceil(n / 1e3) + ' kB' : (n / 1e6).toFixed(1) + ' MB';
  let request = null;
  const send = (file) => {
    if (request) return say('One file at a time: wait, or reload the page to stop.');
    const bar = $('bar');
    bar.hidden = false;
    request = new XMLHttpRequest();
    request.open('PUT', '/files/' + encodeURIComponent(file.name));
    request.setRequestHeader('X-Shoal', 'workbench');
    request.upload.onprogress = (event) => {
      bar.max = event.total; bar.value = event.loaded;
      say('Sending ' + file.name + ': ' + size(event.loaded) + ' of ' + size(event.total));
    };
    const stop = (text) => { request = null; bar.hidden = true; say(text); };
    request.onerror = () => stop('The file could not be read or sent. If it changed meanwhile, choose it again.');
    request.onload = () => {
      let words = {};
      try { words = JSON.parse(request.responseText); } catch { /* said below */ }
      if (words.next) window.location.href = words.next;
      else stop(words.problem || 'The workbench did not take the file (' + request.status + ').');
    };
    request.send(file);
  };
  document.addEventListener('change', (event) => {
    if (event.target.id === 'file' && event.target.files.length) send(event.target.files[0]);
  });
  const drop = (event) => event.target.closest && event.target.closest('.drop');
  document.addEventListener('dragover', (event) => { event.preventDefault(); drop(event)?.classList.add('over'); });
  document.addEventListener('dragleave', (event) => drop(event)?.classList.remove('over'));
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    const area = drop(event);
    if (!area) return;
    area.classList.remove('over');
    if (event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
  });
  document.addEventListener('click', (event) => {
    const button = event.target.closest && event.target.closest('[data-copy]');
    if (!button) return;
    navigator.clipboard?.writeText($(button.dataset.copy).textContent).then(() => { button.textContent = 'Copied'; });
  });
})();
