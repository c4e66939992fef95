import DOMPurify from 'dompurify';

export function Article(props: { body: string }) {
  // ruleid: javascript-react-raw-html
  return <article dangerouslySetInnerHTML={{ __html: props.body }} />;
}

export function ArticleFixed(props: { body: string }) {
  // ok: javascript-react-raw-html
  return <article dangerouslySetInnerHTML={{ __html: DOMPurify.sanitize(props.body) }} />;
}

export function Note(props: { text: string }) {
  const html = DOMPurify.sanitize(props.text);
  // ok: javascript-react-raw-html
  return <p className="note" dangerouslySetInnerHTML={{ __html: html }} />;
}
