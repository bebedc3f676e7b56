/** The SQLSTATE with which the function `lost_lease` undoes its statement. */
export const LOST_LEASE_CODE = 'MO001'
