fn main() {
    let args: Vec<String> = std::env::args().collect();
    let budget: u64 = args[1].parse().unwrap();
    let seeds: u64 = args[2].parse().unwrap();
    let only = args.get(3);
    let given: Vec<usize> = args.iter().skip(4).map(|a| a.parse().unwrap()).collect();
    for program in raddle_corpus::actors::systems::programs() {
        if only.is_some_and(|o| o != "-" && o != program.name) {
            continue;
        }
        let sizes: Vec<Vec<usize>> = if given.is_empty() {
            vec![program.defaults(), program.large.to_vec()]
        } else {
            vec![given.clone()]
        };
        for size in sizes {
            let mut total = 0;
            let mut found = 0;
            let mut steps = 0;
            let mut ex = 0;
            let mut kinds = std::collections::BTreeSet::new();
            for seed in 1..=seeds {
                let ask = raddle_corpus::Ask {
                    executions: Some(budget),
                    seed,
                    ..raddle_corpus::Ask::new("random")
                };
                let report = raddle_corpus::run(program, &size, &ask).unwrap();
                total += report.failure.as_ref().map_or(report.counts.executions, |f| f.execution);
                found += u64::from(report.failure.is_some());
                if let Some(f) = &report.failure {
                    kinds.insert(format!("{:?}", f.outcome).chars().take(160).collect::<String>());
                }
                steps += report.counts.steps;
                ex += report.counts.executions;
            }
            println!(
                "{} {:?}: found {found}/{seeds}, mean {:.1}, steps/execution {:.1} {:?}",
                program.name,
                size,
                total as f64 / found.max(1) as f64,
                steps as f64 / ex as f64,
                kinds
            );
        }
    }
}
