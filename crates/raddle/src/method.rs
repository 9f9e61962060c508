//! `raddle::method!`: a name for the code that follows.

/// Names the rest of the block for strategies that go by methods: `best-first(method(push, steal))`.
///
/// It counts as a call inside the function it stands in, so it is seen whatever the compiler makes of that
/// function. Functions are known by their own names too, without this: see the engine's `context`. Outside
/// an execution, and without the feature `check`, it does nothing.
///
/// ```
/// fn push(item: u32) {
///     raddle::method!("push");
///     // … what is done here is done in `push`.
///     # let _ = item;
/// }
/// # push(1);
/// ```
#[cfg(feature = "check")]
#[macro_export]
macro_rules! method {
    ($name:literal) => {
        let scope = $crate::__private::Scope::new($name);
        let _entered = scope.enter();
    };
}

/// Names the rest of the block for strategies that go by methods. Without the feature `check` it does nothing.
///
/// ```
/// fn push(item: u32) {
///     raddle::method!("push");
///     # let _ = item;
/// }
/// # push(1);
/// ```
#[cfg(not(feature = "check"))]
#[macro_export]
macro_rules! method {
    ($name:literal) => {};
}
