fn main() {}

#[raddle::test]
#[test]
fn tested_twice() {}

#[raddle::test]
fn two_arguments(a: u8, b: u8) {}

#[raddle::test]
fn reference(a: &u8) {}

#[raddle::test(fixture = 1)]
fn no_argument() {}

#[raddle::test]
fn never() -> ! {
    loop {}
}

#[raddle::test]
struct NotAFunction;
