import fc from 'fast-check'

// Every run tries the same inputs, so that none fails by chance. Set the seed to look further.
fc.configureGlobal({ seed: Number(process.env['MOORAGE_TEST_SEED'] ?? 20_261_115) })

export { fc }
