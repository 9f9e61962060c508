fn main() {}

#[raddle::test(time = "10 parsecs")]
fn time() {}

#[raddle::test(time = 10)]
fn number() {}

#[raddle::test(timeouts = "seldom")]
fn word() {}

#[raddle::test(executions)]
fn missing() {}
