# SPDX-License-Identifier: MIT OR Apache-2.0
# work.R: matrices, models, data frames, regular expressions, closures, serialisation, forked workers, plots.
set.seed(20240229)
options(digits = 7)

a <- matrix(rnorm(250 * 250), 250)
cat("solve", all.equal(diag(250), a %*% solve(a)), "\n")
cat("svd", format(sum(svd(a)$d)), "det", format(determinant(crossprod(a))$modulus), "\n")
cat("eigen", format(sum(Re(eigen(a)$values))), "qr", qr(a)$rank, "\n")

frame <- data.frame(x = runif(20000), g = factor(sample(letters[1:7], 20000, TRUE)), z = rnorm(20000))
frame$y <- 3 * frame$x + as.integer(frame$g) + rnorm(20000, sd = .2)
print(summary(lm(y ~ x + g, frame)))
print(coef(glm(I(y > 5) ~ x + z, binomial, frame)))
print(aggregate(y ~ g, frame, mean))
print(head(merge(frame[1:500, ], data.frame(g = letters[1:7], w = 1:7)), 3))
write.csv(frame[1:2000, ], "frame.csv", row.names = FALSE)
cat("read", identical(dim(read.csv("frame.csv")), c(2000L, 4L)), "\n")

text <- vapply(1:20000, function(i) paste0("word", i, strrep("x", i %% 50)), "")
cat("text", sum(nchar(gsub("[aeiou]", "", text))), length(unique(substr(text, 1, 6))), "\n")
cat("parts", length(unlist(strsplit(text, "x+"))), "\n")

counters <- lapply(1:2000, function(i) { n <- i; function() { n <<- n + 1; n } })
cat("closures", sum(vapply(counters, function(f) f() + f(), 0)), "\n")
tree <- function(n) if (n == 0) NULL else list(tree(n - 1), n, tree(n - 1))
kept <- tree(13)
saveRDS(kept, "kept.rds")
cat("serialised", identical(readRDS("kept.rds"), kept), length(serialize(frame, NULL)), "\n")
for (i in 1:40) garbage <- lapply(1:5000, function(j) numeric(j %% 60))
invisible(gc())

cat("forked", unlist(parallel::mclapply(1:8, function(i) { m <- matrix(i, 300, 300); sum(m %*% m) }, mc.cores = 4)), "\n")
cat("error", tryCatch(stop("said"), error = conditionMessage), "\n")

draw <- function() {
  par(mfrow = c(2, 2))
  hist(frame$y, 40)
  plot(frame$x[1:800], frame$y[1:800], pch = 20, col = frame$g[1:800])
  boxplot(y ~ g, frame)
  persp(volcano, theta = 30)
}
postscript("plot.eps"); draw(); invisible(dev.off())
png("plot.png", 800, 600, type = "cairo"); draw(); invisible(dev.off())
