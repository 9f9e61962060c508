fn main() {}

#[raddle::test]
async fn waits() {}
