plugins {
    alias(libs.plugins.android.library)
}

android {
    namespace = "org.retveclite"
    compileSdk = libs.versions.compileSdk.get().toInt()

    defaultConfig {
        minSdk = libs.versions.minSdk.get().toInt()
        consumerProguardFiles("proguard.txt")
    }

    sourceSets {
        named("test") {
            kotlin.directories += "../shared_test"
        }
    }
}

dependencies {
    testImplementation(libs.json) // android.jar has stubs only.
    testImplementation(libs.junit)
}
