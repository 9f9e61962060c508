//! The numbers that counts are made of. `None` where one does not fit.

/// n!
pub(crate) fn factorial(n: usize) -> Option<u64> {
    (1..=n as u64).try_fold(1_u64, u64::checked_mul)
}

/// n over k.
pub(crate) fn binomial(n: usize, k: usize) -> Option<u64> {
    let (n, k) = (n as u64, k.min(n.saturating_sub(k)) as u64);
    // The product of the first i factors is i! times a binomial: each division is exact.
    (0..k).try_fold(1_u64, |product, i| Some(product.checked_mul(n - i)? / (i + 1)))
}

/// The ways to interleave `threads` threads of `steps` steps: (t·s)! / (s!)^t, thread by thread.
pub(crate) fn interleavings(threads: usize, steps: usize) -> Option<u64> {
    (1..=threads).try_fold(1_u64, |product, t| product.checked_mul(binomial(t * steps, steps)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_are_as_everywhere() {
        assert_eq!((factorial(0), factorial(5), factorial(30)), (Some(1), Some(120), None));
        assert_eq!(
            (binomial(14, 7), binomial(3, 0), binomial(200, 100)),
            (Some(3_432), Some(1), None)
        );
        assert_eq!((interleavings(3, 2), interleavings(1, 9)), (Some(90), Some(1)));
    }
}
