import { escapeHtml } from './escape-html.js';

export function addComment(list, comment) {
  // ruleid: javascript-built-inner-html
  list.innerHTML += `<li><b>${comment.author}</b></li>`;
  const row = '<li>' + comment.text + '</li>';
  // ruleid: javascript-built-inner-html
  list.insertAdjacentHTML('beforeend', row);
}

export function addCommentFixed(list, comment) {
  // ok: javascript-built-inner-html
  list.insertAdjacentHTML('beforeend', `<li>${escapeHtml(comment.text)}</li>`);
  const item = document.createElement('li');
  item.textContent = comment.text;
  list.append(item);
  // ok: javascript-built-inner-html
  list.previousSibling.innerHTML = '<h2>Comments</h2>';
}
