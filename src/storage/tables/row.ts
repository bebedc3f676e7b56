/** A row as the code has it: JSON is read, and a column with few values has their type. */
export type RowWith<Row, Read extends { [Column in keyof Row]?: unknown }> = Omit<Row, keyof Read> & Read
