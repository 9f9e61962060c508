//! What is saved, split or moved out of memory: exact equality of sets with what was there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::{Strategy as _, prop_assert, prop_assert_eq, proptest};
use raddle_engine::store::{Store as Disk, StoreError, Ticket};
use raddle_engine::strategy::{Divisible, Estimating, Plan, Resumable, Strategy};
use raddle_trace::Covered;

use super::super::Frontier;
use super::super::priority::{Departures, ModifiedDpor, Preemptions, Rand, SleepSets};
use super::super::tests::{Parts, all_priorities, best, mixed, programs, sorted};
use super::*;
use crate::bound::Bound;
use crate::order::NonPreemptive;
use crate::rng::Rng;
use crate::toy::{self, Moves, Toy};

/// A store in memory, of which `fails` says from which call on.
#[derive(Clone, Debug, Default)]
struct Shelf {
    inner: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    blocks: BTreeMap<u64, Vec<u8>>,
    next: u64,
    puts: u64,
    /// Nothing can be put from this one on.
    full_after: Option<u64>,
    /// What is read is not what was written.
    rots: bool,
}

impl Disk for Shelf {
    fn put(&mut self, bytes: &[u8]) -> Result<Ticket, StoreError> {
        let mut kept = self.inner.lock().unwrap();
        kept.puts += 1;
        if kept.full_after.is_some_and(|most| kept.puts > most) {
            return Err(StoreError("no room is left; make some".to_owned()));
        }
        let at = kept.next;
        kept.next += 1;
        kept.blocks.insert(at, bytes.to_vec());
        Ok(Ticket { at, len: bytes.len() as u64 })
    }

    fn get(&self, ticket: Ticket) -> Result<Vec<u8>, StoreError> {
        let kept = self.inner.lock().unwrap();
        let mut bytes = kept.blocks[&ticket.at].clone();
        assert_eq!(bytes.len() as u64, ticket.len);
        if kept.rots {
            bytes[ticket.len as usize / 2] ^= 1;
        }
        Ok(bytes)
    }

    fn free(&mut self, ticket: Ticket) {
        self.inner.lock().unwrap().blocks.remove(&ticket.at).expect("it is freed once");
    }
}

fn within(parts: Parts, bound: Bound, bytes: u64, shelf: &Shelf) -> TreeSearch {
    let mut search = TreeSearch::within(Frontier::BestFirst(parts), NonPreemptive, bound).unwrap();
    search.keep_within(bytes, Box::new(shelf.clone()));
    search
}

fn first(search: &mut dyn Strategy, plan: &mut Plan, toy: &Toy, n: usize) -> Vec<Moves> {
    (0..n).map_while(|_| toy::execute(search, plan, toy)).map(|execution| execution.moves).collect()
}

#[test]
fn candidates_that_do_not_fit_into_memory_come_back() {
    let toy = Toy::independent(&[3, 3, 3]);
    let expected = toy::interleavings(&toy, u32::MAX);
    assert_eq!(expected.len(), 1_680, "9! / 3!^3");
    for parts in all_priorities(4) {
        let shelf = Shelf::default();
        let mut search = within(parts, Bound::None, 4_000, &shelf);
        assert_eq!(sorted(toy::all(&mut search, &toy)), expected, "{}", search.name());
        assert_eq!(search.covered(), Covered::Everything);
        assert_eq!((search.nodes(), search.pending()), (1, 0));
        assert!(shelf.inner.lock().unwrap().blocks.is_empty(), "nothing is left behind");
        if search.name() == "best-first(rand)" {
            assert!(shelf.inner.lock().unwrap().puts > 5, "a wide search had to move something");
        }
    }
}

// Sixteen independent steps of four tasks: 16! / 4!^4 executions. Those with few delays make many more
// known than are run, and without a limit the search holds more and more.
#[test]
fn what_is_in_memory_stays_within_the_limit() {
    let toy = Toy::independent(&[4, 4, 4, 4]);
    let peak = |limit: Option<u64>| {
        let mut search = best(vec![Box::new(Departures)]);
        if let Some(limit) = limit {
            search.keep_within(limit, Box::new(Shelf::default()));
        }
        let mut plan = Plan::default();
        let held = |_| {
            toy::execute(&mut search, &mut plan, &toy).expect("there are more");
            search.progress().frontier_bytes
        };
        (0..3_000).map(held).max().expect("some were run")
    };
    let all = peak(None);
    assert!(all > 400_000, "{all}");
    for limit in [50_000, 100_000, 200_000] {
        let peak = peak(Some(limit));
        assert!(peak <= limit, "{peak} of {limit}");
    }
}

#[test]
fn pb_says_the_same_of_its_bound_with_a_store() {
    let toy = Toy::independent(&[3, 3]);
    let parts: Parts = vec![Box::new(Preemptions)];
    let mut search = within(parts, Bound::None, 1, &Shelf::default());
    let n = toy::interleavings(&toy, 1).len();
    let mut plan = Plan::default();
    first(&mut search, &mut plan, &toy, n);
    assert_eq!(search.covered(), Covered::Preemptions(1));
}

#[test]
fn a_store_that_is_full_ends_the_search_and_loses_nothing() {
    let toy = Toy::independent(&[3, 3, 3]);
    let expected = toy::interleavings(&toy, u32::MAX);
    let shelf = Shelf::default();
    shelf.inner.lock().unwrap().full_after = Some(2);
    let mut search = within(vec![Box::new(Rand::new(1))], Bound::None, 4_000, &shelf);
    let mut plan = Plan::default();
    let mut seen = first(&mut search, &mut plan, &toy, 10_000);
    assert!(seen.len() < expected.len());
    assert_eq!(search.remarks().unfinished.as_deref(), Some("no room is left; make some"));
    assert!(matches!(search.covered(), Covered::Part { .. }));
    assert!(!search.begin(&mut plan), "it stays that way");
    // A checkpoint has what is in memory and what was moved before.
    let mut again = best(vec![Box::new(Rand::new(9))]);
    again.restore(&search.save().unwrap()).unwrap();
    seen.extend(toy::all(&mut again, &toy));
    assert_eq!(sorted(seen), expected);
}

#[test]
fn what_comes_back_damaged_ends_the_search_and_is_not_covered() {
    let toy = Toy::independent(&[3, 3, 3]);
    let shelf = Shelf::default();
    let mut search = within(vec![Box::new(Rand::new(1))], Bound::None, 4_000, &shelf);
    let mut plan = Plan::default();
    first(&mut search, &mut plan, &toy, 200);
    assert!(search.spill.as_ref().unwrap().written() > 0);
    shelf.inner.lock().unwrap().rots = true;
    assert!(search.save().is_err());
    let more = first(&mut search, &mut plan, &toy, 10_000).len();
    assert!(more < 1_480);
    assert!(search.remarks().unfinished.unwrap().contains("came back damaged"));
    assert!(matches!(search.covered(), Covered::Part { .. }));
}

#[test]
fn a_saved_search_goes_on_in_the_same_order() {
    for toy in [Toy::independent(&[2, 2, 2]), mixed()] {
        for (at, parts) in all_priorities(3).into_iter().enumerate() {
            let mut search = best(parts);
            let mut plan = Plan::default();
            first(&mut search, &mut plan, &toy, 17);
            let other = || all_priorities(77).into_iter().nth(at).unwrap();
            let mut again = best(other());
            again.restore(&search.save().unwrap()).unwrap();
            assert_eq!(again.progress().estimate, search.progress().estimate);
            assert_eq!(toy::all(&mut again, &toy), toy::all(&mut search, &toy));
            assert_eq!(again.covered(), Covered::Everything);
        }
    }
}

fn reduced(expansion: TreeExpansion, parts: Parts) -> TreeSearch {
    TreeSearch::new(expansion, Frontier::BestFirst(parts))
}

// What sleeps and what was opened is in the state, so that not even the order is another one.
#[test]
fn a_reduced_search_goes_on_in_the_same_order() {
    let toy = mixed();
    for expansion in [TreeExpansion::Source, TreeExpansion::Classic] {
        for (at, parts) in all_priorities(3).into_iter().enumerate() {
            let all = toy::all(&mut reduced(expansion, parts), &toy);
            let nth = |seed| reduced(expansion, all_priorities(seed).swap_remove(at));
            for n in 0..=all.len() {
                let mut search = nth(3);
                let mut seen = first(&mut search, &mut Plan::default(), &toy, n);
                let mut again = nth(77);
                again.restore(&search.save().unwrap()).unwrap();
                seen.extend(toy::all(&mut again, &toy));
                assert_eq!(seen, all, "{expansion:?} {} after {n}", again.name());
                assert_eq!(again.covered(), Covered::Equivalence);
                assert_eq!((again.nodes(), again.pending()), (1, 0));
            }
        }
    }
}

#[test]
fn a_reduced_search_of_another_kind_is_refused() {
    let toy = mixed();
    let parts = || -> Parts { vec![Box::new(Preemptions)] };
    let mut search = reduced(TreeExpansion::Source, parts());
    first(&mut search, &mut Plan::default(), &toy, 4);
    let state = search.save().unwrap();
    for mut other in [
        reduced(TreeExpansion::Classic, parts()),
        reduced(TreeExpansion::Source, vec![]),
        best(parts()),
    ] {
        assert_eq!(other.restore(&state).unwrap_err(), FOREIGN);
    }
}

/// One search of each kind that is saved differently.
fn kinds() -> Vec<fn() -> TreeSearch> {
    use TreeExpansion::{All, Classic, Source};
    let all: [fn() -> TreeSearch; 6] = [
        || TreeSearch::new(All, Frontier::BreadthFirst),
        || TreeSearch::new(All, Frontier::Random { seed: 3 }),
        || best(vec![Box::new(Preemptions)]),
        || best(vec![Box::new(SleepSets), Box::new(ModifiedDpor)]),
        || TreeSearch::new(Source, Frontier::Random { seed: 3 }),
        || reduced(Classic, vec![Box::new(Preemptions)]),
    ];
    all.to_vec()
}

// With a checksum that is right: whatever the numbers say, it is refused or can be gone on with.
#[test]
fn a_state_may_say_anything() {
    let toy = mixed();
    for make in kinds() {
        let mut search = make();
        first(&mut search, &mut Plan::default(), &toy, 6);
        let state = search.save().unwrap().0;
        let (body, _) = state.split_last_chunk::<8>().unwrap();
        let mut refused = 0;
        for at in 0..body.len() {
            for change in [1, 0x7f] {
                let mut bytes = body.to_vec();
                bytes[at] ^= change;
                let sum = state::checksum(&bytes);
                bytes.extend_from_slice(&sum.to_le_bytes());
                let mut again = make();
                match again.restore(&Checkpoint(bytes)) {
                    Ok(()) => {
                        again.begin(&mut Plan::default());
                        again.progress();
                        again.save().unwrap();
                        let _ = again.split(3);
                    }
                    Err(why) => {
                        assert!([FOREIGN, state::OUTDATED].contains(&why), "{why}");
                        refused += 1;
                    }
                }
            }
        }
        let of = 2 * body.len();
        assert!(refused > of / 8, "{refused} of {of}: {}", search.name());
    }
}

#[test]
fn an_execution_that_never_ended_is_saved_too() {
    let toy = mixed();
    for (at, parts) in all_priorities(3).into_iter().enumerate() {
        let mut search = best(parts);
        let mut plan = Plan::default();
        let mut seen = first(&mut search, &mut plan, &toy, 5);
        assert!(search.begin(&mut plan));
        toy::execute_unended(&mut search, &plan, &toy);
        let mut again = best(all_priorities(3).into_iter().nth(at).unwrap());
        again.restore(&search.save().unwrap()).unwrap();
        seen.extend(toy::all(&mut again, &toy));
        assert_eq!(sorted(seen), toy::interleavings(&toy, u32::MAX), "{}", again.name());
    }
}

#[test]
fn a_state_of_another_search_is_refused() {
    let toy = mixed();
    let mut search = best(vec![Box::new(Preemptions)]);
    first(&mut search, &mut Plan::default(), &toy, 4);
    let state = search.save().unwrap();
    assert_eq!(best(vec![]).restore(&state).unwrap_err(), FOREIGN);
    let bound = Bound::Preemptions(1);
    let parts: Parts = vec![Box::new(Preemptions)];
    let mut bounded = TreeSearch::within(Frontier::BestFirst(parts), NonPreemptive, bound).unwrap();
    assert_eq!(bounded.restore(&state).unwrap_err(), FOREIGN);
    for cut in 0..state.0.len() {
        let short = Checkpoint(state.0[..cut].to_vec());
        assert!(search.restore(&short).is_err(), "cut at {cut}");
    }
}

#[test]
fn a_part_covers_no_more_than_itself() {
    let toy = Toy::independent(&[3, 3]);
    let mut search = best(vec![Box::new(Preemptions)]);
    assert!(search.split(3).unwrap().is_empty(), "nothing is known yet");
    first(&mut search, &mut Plan::default(), &toy, 1);
    let works = search.split(2).unwrap();
    assert_eq!(works.len(), 2);
    for SearchPart { prefix, state, .. } in works {
        let mut part = best(vec![Box::new(Preemptions)]);
        part.restore(&state).unwrap();
        let mut plan = Plan::default();
        while let Some(execution) = toy::execute(&mut part, &mut plan, &toy) {
            assert!(execution.decisions.starts_with(&prefix));
        }
        assert!(matches!(part.covered(), Covered::Part { .. }));
        assert_eq!(part.nodes(), 0);
    }
    toy::all(&mut search, &toy);
    assert!(matches!(search.covered(), Covered::Part { .. }), "the rest alone is not all");
}

fn bounds() -> impl proptest::prelude::Strategy<Value = (Bound, u32)> {
    (0_u32..4).prop_map(|k| match k {
        3 => (Bound::None, u32::MAX),
        k => (Bound::Preemptions(k), k),
    })
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 48, ..toy::fixed_seed() })]

    #[test]
    fn with_a_tiny_limit_nothing_is_lost_or_repeated(
        toy in programs(), seed: u64, bound in bounds(), bytes in 0_u64..3_000,
    ) {
        let expected = toy::interleavings(&toy, bound.1);
        for parts in all_priorities(seed) {
            let shelf = Shelf::default();
            let mut search = within(parts, bound.0, bytes, &shelf);
            prop_assert_eq!(&sorted(toy::all(&mut search, &toy)), &expected);
            prop_assert_eq!((search.nodes(), search.pending()), (1, 0));
            prop_assert!(shelf.inner.lock().unwrap().blocks.is_empty());
        }
    }

    #[test]
    fn saved_anywhere_and_often_it_runs_what_is_left(
        toy in programs(), seed: u64, bound in bounds(), bytes in 0_u64..3_000,
    ) {
        let expected = toy::interleavings(&toy, bound.1);
        for (at, parts) in all_priorities(seed).into_iter().enumerate() {
            let mut rng = Rng::new(seed);
            let mut search = within(parts, bound.0, bytes, &Shelf::default());
            let mut seen = Vec::new();
            loop {
                let n = 1 + rng.below(9) as usize;
                let more = first(&mut search, &mut Plan::default(), &toy, n);
                let done = more.len() < n;
                seen.extend(more);
                if done {
                    break;
                }
                let state = search.save().unwrap();
                let parts = all_priorities(seed).into_iter().nth(at).unwrap();
                search = within(parts, bound.0, bytes, &Shelf::default());
                search.restore(&state).unwrap();
            }
            prop_assert_eq!(&sorted(seen), &expected);
            prop_assert_eq!(search.covered(), bound.0.covered());
        }
    }

    #[test]
    fn a_reduced_search_that_is_saved_anywhere_and_often_is_the_same(toy in programs(), seed: u64) {
        for expansion in [TreeExpansion::Source, TreeExpansion::Classic] {
            for (at, parts) in all_priorities(seed).into_iter().enumerate() {
                let all = toy::all(&mut reduced(expansion, parts), &toy);
                let nth = |seed| reduced(expansion, all_priorities(seed).swap_remove(at));
                let (mut rng, mut search, mut seen) = (Rng::new(seed), nth(seed), Vec::new());
                loop {
                    let n = 1 + rng.below(9) as usize;
                    let more = first(&mut search, &mut Plan::default(), &toy, n);
                    let done = more.len() < n;
                    seen.extend(more);
                    if done {
                        break;
                    }
                    let state = search.save().unwrap();
                    search = nth(!seed);
                    search.restore(&state).unwrap();
                }
                prop_assert_eq!(&seen, &all, "{}", search.name());
            }
        }
    }

    #[test]
    fn parts_are_disjoint_and_together_all(
        toy in programs(), seed: u64, bound in bounds(), bytes in 0_u64..3_000,
    ) {
        let expected = toy::interleavings(&toy, bound.1);
        for (at, parts) in all_priorities(seed).into_iter().enumerate() {
            let mut rng = Rng::new(seed);
            let mut left = vec![within(parts, bound.0, bytes, &Shelf::default())];
            let mut seen = Vec::new();
            while let Some(mut search) = left.pop() {
                let n = rng.below(6) as usize;
                let more = first(&mut search, &mut Plan::default(), &toy, n);
                let done = more.len() < n;
                seen.extend(more);
                for work in search.split(rng.below(4) as usize).unwrap() {
                    let parts = all_priorities(seed).into_iter().nth(at).unwrap();
                    let mut part = within(parts, bound.0, bytes, &Shelf::default());
                    part.restore(&work.state).unwrap();
                    left.push(part);
                }
                if !done {
                    left.push(search);
                }
            }
            prop_assert_eq!(&sorted(seen), &expected);
        }
    }

    #[test]
    fn what_is_said_to_be_covered_has_been_run(
        toy in programs(), seed: u64, bound in bounds(), stop in 0_usize..60,
    ) {
        for (at, parts) in all_priorities(seed).into_iter().enumerate() {
            let mut search = within(parts, bound.0, if at % 2 == 0 { 0 } else { 1 << 20 }, &Shelf::default());
            let seen = sorted(first(&mut search, &mut Plan::default(), &toy, stop));
            let all_within = |k| {
                toy::interleavings(&toy, k).iter().all(|moves| seen.binary_search(moves).is_ok())
            };
            match search.covered() {
                Covered::Everything => prop_assert!(all_within(u32::MAX)),
                Covered::Preemptions(k) => prop_assert!(all_within(k), "{} at {k}", search.name()),
                Covered::Part { executions, .. } => {
                    prop_assert_eq!(executions, seen.len() as u64);
                    // Nothing is withheld: not even without preemptions all have been run.
                    prop_assert!(seen.is_empty() || !all_within(0));
                }
                covered => prop_assert!(false, "{covered:?}"),
            }
        }
    }
}
