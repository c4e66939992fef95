/**
 * What changes how the text around it is read rather than being read itself: controls, embeddings and overrides of
 * the writing direction, half characters and what is no character.
 */
const HIDDEN = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}\u202a-\u202e\u2066-\u2069\ufff9-\ufffc]/u;
/** Characters that nobody sees. Joiners and the choice between picture and text stay: scripts and emoji need them. */
const UNSEEN = /(?!\u200c|\u200d|\ufe0e|\ufe0f)[\p{Default_Ignorable_Code_Point}\u2800]/u;
/** Besides, in what stands in one line: its breaks, and marks of direction. */
const NOT_IN_A_LINE = /[\p{Zl}\p{Zp}\p{Bidi_Control}]/u;
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** Whether a text reads as what it is in a list, a table, a log line or a terminal: one line, nothing hidden in it. */
export function isShowable(text: string): boolean {
  return (
    !HIDDEN.test(text) &&
    !UNSEEN.test(text) &&
    !NOT_IN_A_LINE.test(text) &&
    (text === '' || VISIBLE.test(text))
  );
}

/** The same of a text of several lines, where marks of direction stay too. */
export function isShowableProse(text: string): boolean {
  const plain = text.replace(/[\t\n\r\u061c\u200e\u200f]/g, '');
  return !HIDDEN.test(plain) && !UNSEEN.test(plain);
}
