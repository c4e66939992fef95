/** What the service tells the process that watches over it. */
export interface ChildNews {
  /** Its address, once it answers. */
  readonly ready: string;
}
