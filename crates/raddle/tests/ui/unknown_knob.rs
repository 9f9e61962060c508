fn main() {}

#[raddle::test(execution = 10)]
fn near() {}

#[raddle::test(colour = "red")]
fn far() {}

#[raddle::test(seed = 1, seed = 2)]
fn twice() {}
