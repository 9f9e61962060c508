//! What the head of a page tells a reader: what is compared, what follows from it, and what does not.

const POINTS: &str = "Compared: how often executions show a bug, with raddle's `random` and with shuttle's random scheduler on the same \
     text of each program, where `random` is also given points that shuttle has and it lacks, and is rid of one that \
     shuttle lacks.\n\n\
     To conclude: which of these points make bugs more frequent, and whether some choice of them is no worse than \
     shuttle on any program. Not to conclude: anything of other samplers.";

const HAPSET: &str = "Compared: searches that follow pairs of statements not seen before (HaPSet, Wang, Said and Gupta, ICSE 2011), \
     other reductions and samplers, by executions until a bug; and a scoreboard of samplers on shapes of SCTBench \
     beside published means.\n\n\
     To conclude: which strategy needs fewer executions on these shapes, what it misses, and what learning costs. Not to \
     conclude: a ranking on the original programs. These are small ones of the same shape, in which steps are \
     not quite the same.";

const GAMBIT_MEMORY: &str = "Compared: what best-first searches hold in memory, beside what GAMBIT (Coons, Burckhardt and Musuvathi, PPoPP 2010, sections \
     3.1, 3.2 and 5.4) holds of a search of the same shape: known executions as lists of decisions, the tree of partial schedules, and \
     the paper's execution tree.\n\n\
     To conclude: how many bytes a known execution takes in each form of the tree, and what is given up for the smaller one. Not to \
     conclude: what a search of another program holds, which hangs on how many executions wait at once.";

const GAMBIT_COST: &str = "Compared: instructions for an execution of best-first searches and of depth-first ones that run the same executions.\n\n\
     To conclude: what it costs to have a choice, to look at races for it, and to jump in the tree. Not to conclude: how soon a bug \
     is found, which is in [gambit.md](gambit.md); nor times of programs whose own code does more than its operations.";

const REDUCTION: &str = "Compared: how many executions raddle's three reductions, raddle without one, loom, shuttle and traceforge need \
     to finish small programs; what a step costs under the optimal reduction; and how that grows with the length of an \
     execution.\n\n\
     To conclude: what partial-order reduction saves, and its price for each step. Not to conclude: that loom or \
     traceforge do needless work. loom explores weak memory besides, and traceforge's variables are threads that \
     answer messages. Counts are exact on any machine, times are not.";

/// The text below the command of a page; none if its command writes its own.
pub(crate) fn about(page: &str) -> Option<&'static str> {
    Some(match page {
        "samplers" => {
            "Compared: how often executions show a bug, with raddle's `random` and with shuttle's random scheduler on the same \
             text of each program; and samplers of raddle beside each other.\n\n\
             To conclude: whether what `random` decides at (which operations are steps, and which tasks it may choose from) \
             makes bugs rarer than in shuttle. Not to conclude: which tool is better at finding bugs. The default of raddle \
             is not `random`, and shuttle has other schedulers."
        }
        "points" => POINTS,
        "actors" => {
            "Compared: messages per second of actors on threads, for three small programs written for each library, all \
             measured in one run and in turn.\n\n\
             To conclude: what passing a message costs here beside kameo, ractor and actix. Not to conclude: that a program \
             is faster by that much. Handlers do next to nothing, the libraries do not offer the same, and rates of a \
             shared machine are only comparable within one run."
        }
        "default" => {
            "Compared: every bug of the corpus, searched by the strategies that a portfolio may have as members, alone and \
             together, with three seeds each. The bugs are split in two halves; members were chosen on half A.\n\n\
             To conclude: how many executions the default needs for bugs of these shapes, and which ones it does not find \
             within its budget. Not to conclude: the chance to find a bug of another program. Only half B was not used to \
             choose, and both halves were written for this project."
        }
        "driver" => {
            "Compared: the same test run by `cargo test` and in a host of `cargo raddle`, by instructions for an execution; \
             and the rate of a host with all executions in one process, and with a process for each.\n\n\
             To conclude: what the driver's reports cost a search of tiny executions, where they weigh most, and what \
             isolation costs. Not to conclude: rates of other programs, whose executions are longer."
        }
        "estimate" => {
            "Compared: the estimates that a search gives of its own size while it runs, with their bands of 90 %, and the \
             true number of executions, known by arithmetic or by running all of them. Programs are split into a half \
             on which the bands were calibrated and a half on which they are tested.\n\n\
             To conclude: how far an estimate may be off at which part of a search, and how often its band holds. A band of \
             90 % should hold at about 90 of 100 checkpoints. Not to conclude: that it does for programs of other shapes."
        }
        "eta" => {
            "Compared: the tables and figures of Simsa, Bryant, Gibson and Hickey, *Efficient Exploratory Testing of \
             Concurrent Systems* (2011), as published and as measured here.\n\n\
             To conclude: whether the algorithms save as many executions here as the paper says, and how good the \
             estimates are. Not to conclude: anything from seconds beside seconds. Theirs are of a machine of 2010 and of another \
             system, and their programs had to be written again."
        }
        "fleet" => {
            "Compared: one search run by several hosts, and as many hosts that know nothing of each other.\n\n\
             To conclude: what sharing a search on one machine costs. Not to conclude: what a fleet of machines gains; \
             [fleet-sim.md](fleet-sim.md) has a model of that."
        }
        "fleet-sim" => {
            "Compared: the time of one search by its number of workers, in a simulation that runs the rules of \
             `raddle-fleet` (how units are cut, leased and recorded) with costs of messages and executions as stated.\n\n\
             To conclude: how far the rules scale if the costs are right, and what ends it. Not to conclude: times of a real fleet. No \
             network and no server was measured at these sizes."
        }
        "foundation" => {
            "Compared: the CPU time of one execution of the same small programs under raddle, shuttle and loom, in turn in one \
             run; and how many executions an exhaustive search makes of threads that do nothing.\n\n\
             To conclude: what running an execution costs beside the other tools. Not to conclude: which tool finds a bug \
             sooner, which depends on the executions that it chooses; nor anything from the times alone, since the machine is \
             shared: only the ratios of one run count."
        }
        "gambit" => {
            "Compared: depth-first and best-first searches, samplers and the default portfolio on 74 bugs in unit tests of \
             libraries, after Coons, Burckhardt and Musuvathi, *GAMBIT: Effective Unit Testing for Concurrency \
             Libraries* (PPoPP 2010): executions until the bug. The same bugs with large arguments are in \
             [gambit-table2-large.md](gambit-table2-large.md), the members of the portfolio in [gambit-portfolios.md](gambit-portfolios.md), \
             what searches hold and cost in [gambit-memory.md](gambit-memory.md) and [gambit-cost.md](gambit-cost.md), and a search \
             by methods in [gambit-methods.md](gambit-methods.md).\n\n\
             To conclude: which priorities reach bugs of these shapes early. Not to conclude: the \
             published figures. The libraries are others, written for this project in the same shapes; and one priority was \
             changed after it had been run on them, as a note below says."
        }
        "gambit-table2-large" => {
            "Compared: depth-first and best-first searches, one sampler and the default portfolio on the 74 bugs of \
             [gambit.md](gambit.md) with large arguments: executions of 250 to 8,000 steps, as in the GAMBIT paper.\n\n\
             To conclude: which orders reach bugs early where an execution has hundreds of races. Not to conclude: the published \
             figures, since the libraries are others; nor that a bug which was given up by its time would not have been found \
             within the executions."
        }
        "gambit-portfolios" => {
            "Compared: lists of strategies, each run as one portfolio whose members take turns, on the 74 bugs of \
             [gambit.md](gambit.md) with small and with large arguments.\n\n\
             To conclude: which members `portfolio` should have for bugs of these shapes. Not to conclude: which is best for programs of \
             other shapes, nor anything from half A alone, on which the list was chosen."
        }
        "gambit-memory" => GAMBIT_MEMORY,
        "gambit-cost" => GAMBIT_COST,
        "gambit-methods" => {
            "Compared: executions until a bug between two methods of a larger program, by best-first searches that are told \
             both methods, one of them, or none, beside the seconds of section 5.3 of the GAMBIT paper.\n\n\
             To conclude: what naming the methods under suspicion is worth in this program. Not to conclude: anything from \
             executions beside seconds."
        }
        "hapset" => HAPSET,
        "reduction" => REDUCTION,
        _ => return None,
    })
}
