/** JSON that is not taken; the message goes on from the name of what it is: `The report` + ` is not valid JSON`. */
export class JsonRefused extends Error {
  override readonly name = 'JsonRefused';
  readonly reason: 'syntax' | 'too_deep' | 'too_large' | 'too_many';

  constructor(reason: JsonRefused['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}
