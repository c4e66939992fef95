import DOMPurify from 'dompurify';

export function showQuery(node) {
  const query = new URLSearchParams(location.search).get('q');
  // ruleid: javascript-dom-xss
  node.innerHTML = query;
}

export function listen(node) {
  window.addEventListener('message', (event) => {
    // ruleid: javascript-dom-xss
    node.insertAdjacentHTML('beforeend', event.data.html);
  });
}

export function showQueryFixed(node) {
  const query = new URLSearchParams(location.search).get('q');
  // ok: javascript-dom-xss
  node.textContent = query;
  // ok: javascript-dom-xss
  node.innerHTML = DOMPurify.sanitize(query);
}
