"""From run directories to tables, figures, statistics, verdicts and the report page.

Reads files only (`results/<study>/study.json` and the run directories below it); imports neither
`algorithms` nor `envs_mbbl`. Computing works on tidy frames with the columns
`study, algorithm, variant, label, task, seed, step, return`; rendering is kept apart from it.
"""
