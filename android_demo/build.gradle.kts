// AGP compiles Kotlin itself since 9.0; this only chooses a newer compiler than the one it brings.
buildscript {
    dependencies {
        classpath(libs.kotlin.gradle.plugin)
    }
}

plugins {
    alias(libs.plugins.android.application) apply false
}
