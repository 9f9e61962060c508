use super::*;

fn block(task: u32, moves: u32) -> Block {
    Block { task: TaskId(task), moves }
}

#[test]
fn every_change_has_a_number_and_they_end() {
    let all: Vec<_> = (0..).map_while(|at| Change::nth(at, 2, 1)).collect();
    let (up, down, drop, swap) = (Change::Up, Change::Down, Change::Drop, Change::Swap);
    let expected =
        [up(0), up(1), down(0), down(1), drop(0), drop(1), swap(0), swap(1), Change::Value(0)];
    assert_eq!(all, expected);
    assert_eq!(Change::nth(0, 0, 0), None);
}

#[test]
fn a_change_that_changes_nothing_is_none() {
    let blocks = [block(1, 2), block(2, 1)];
    let values = [(TaskId(1), 0)];
    let applies = |change: Change| change.apply(&blocks, &values).is_some();
    assert!(!applies(Change::Up(0)) && !applies(Change::Down(0)));
    assert!(applies(Change::Drop(0)) && !applies(Change::Drop(1)));
    assert!(applies(Change::Swap(0)) && !applies(Change::Swap(1)));
    assert!(!applies(Change::Value(0)));
}
