//! Pages, as far as that can be told without a browser.
