fn main() {}

#[raddle::test]
fn takes_any<T: Default>(value: T) {}
