/** Everything that tests wait for may take so many times longer: `MOORAGE_TEST_PATIENCE=3` for a machine that is busy. */
export const PATIENCE = Number(process.env['MOORAGE_TEST_PATIENCE'] || 1)
