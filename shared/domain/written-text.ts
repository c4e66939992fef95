/**
 * What changes how the text around it is read rather than being read itself: controls, embeddings and overrides of
 * the writing direction, invisible spaces and operators, half characters. Joiners stay, because scripts need them.
 */
const HIDDEN = /[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069\u200b\u2060-\u2064\u180e\ufeff\ufff9-\ufffb]/u;
/** Besides, in what stands in one line: its breaks, and marks of direction. */
const NOT_IN_A_LINE = /[\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

/** Whether a text reads as what it is in a list, a table, a log line or a terminal: one line, nothing hidden in it. */
export function isShowable(text: string): boolean {
  return !HIDDEN.test(text) && !NOT_IN_A_LINE.test(text);
}

/** The same of a text of several lines. */
export function isShowableProse(text: string): boolean {
  return !HIDDEN.test(text.replace(/[\t\n\r]/g, ''));
}
