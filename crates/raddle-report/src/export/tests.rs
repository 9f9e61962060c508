//! Every format that other tools read.
