// What a page shows instead of an answer.
export class Problem extends Error {}
