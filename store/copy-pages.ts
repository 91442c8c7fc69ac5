/** Of the texts of a page of rows: whoever copies a store has little memory. */
export const PAGE_BYTES_MAX = 8 * 1_024 ** 2;
